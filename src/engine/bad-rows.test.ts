import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import { type BadRows, openBadRows } from './bad-rows.ts'
import { loadCapabilities } from './capabilities.ts'
import { openEngineClient } from './client.ts'
import { type BadRow, EngineError } from './engine.ts'
import { makeBadRowKeeper } from './keep-bad-rows.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
const never = new AbortController().signal
const pipeId = 'the pipe'
const nowMs = Date.now()

function badRow(id: string, raw: string | Uint8Array, atMs = 0): BadRow {
  return {
    id,
    partition: 'topic/0',
    position: `offset ${id}`,
    raw: Buffer.from(raw as string),
    meta: '{"key":"\\t"}',
    reason: "Cannot parse\n\t'this' \\",
    at: new Date(nowMs + atMs).toISOString(),
  }
}

for (const hasTokens of [true, false]) {
  describe(`bad rows on an engine ${hasTokens ? 'with insert tokens' : 'without insert tokens'}`, () => {
    let engine: TestEngine
    let tables = 0

    before(async () => {
      engine = await (hasTokens ? openEmbeddedEngine() : startPaperEngine())
    })
    after(() => engine.close())

    interface Kept {
      badRows: BadRows
      errors: string
      keep(rows: BadRow[]): Promise<void>
    }

    async function withBadRows(use: (kept: Kept) => Promise<void>): Promise<void> {
      tables += 1
      const table = { database: engine.database, table: `events ${tables}` }
      const { protocol, host, port, username, password } = engine
      const access = { protocol, host, port, username, password: new Secret(password) }
      const client = openEngineClient(egress, access)
      const badRows = await openBadRows(egress, access, table)
      try {
        const keeper = makeBadRowKeeper(client, await loadCapabilities(client), table)
        const keep = (rows: BadRow[]): Promise<void> => keeper.keep(pipeId, rows, never)
        await use({ badRows, errors: `${table.table}_penstock_errors`, keep })
      } finally {
        client.close()
        await badRows.close()
      }
    }

    it('are empty when no row was rejected', () =>
      withBadRows(async ({ badRows, keep, errors }) => {
        await keep([])
        assert.ok(!(await engine.listTables()).includes(errors))
        assert.deepEqual(await badRows.list(pipeId, { limit: 10 }), [])
        assert.deepEqual(await badRows.load(pipeId, { limit: 10 }), [])
        assert.equal(await badRows.count(pipeId), 0)
        assert.deepEqual(await badRows.countByDay(pipeId), {})
        assert.deepEqual(await badRows.listReplayed(pipeId, ['1']), [])
      }))

    it('are stored once, and come back byte for byte, the oldest first', () =>
      withBadRows(async ({ badRows, keep }) => {
        const rows = [
          badRow(
            '1',
            Uint8Array.from({ length: 256 }, (_, byte) => byte),
            1,
          ),
          badRow("2'\\", '', 2),
          badRow('3', Buffer.alloc(50_000, 'ä\\\t'), 3),
        ]
        await keep(rows)
        await keep(rows)
        assert.equal(await badRows.count(pipeId), 3)
        const loaded = await badRows.load(pipeId, { limit: 10 })
        assert.deepEqual(
          loaded.map((row) => ({ ...row, raw: Buffer.from(row.raw) })),
          rows,
        )
        const [first, second] = loaded
        assert.deepEqual(await badRows.load(pipeId, { limit: 1, after: first! }), [second])
        assert.equal(await badRows.count('another pipe'), 0)
      }))

    it('are shown the newest first, and cut after 10,000 characters', () =>
      withBadRows(async ({ badRows, keep }) => {
        await keep(Array.from({ length: 50 }, (_, index) => badRow(`row ${100 + index}`, '😀', index)))
        await keep([badRow('a', '😀'.repeat(10_000), 100), badRow('b', '😀'.repeat(10_001), 101)])
        const listed = await badRows.list(pipeId, { limit: 100 })
        assert.deepEqual(
          listed.slice(0, 3).map(({ id, isCut, raw }) => [id, isCut, [...raw].length]),
          [
            ['b', true, 10_000],
            ['a', false, 10_000],
            ['row 149', false, 1],
          ],
        )
        assert.equal(listed.length, 52)
        const { raw: _raw, meta: _meta, ...kept } = badRow('row 100', '😀')
        assert.deepEqual(listed.at(-1), { ...kept, raw: '😀', isCut: false })
        assert.deepEqual(await badRows.list(pipeId, { limit: 45 }), listed.slice(0, 45))
      }))

    it('are gone after a replay, also when they are stored again', () =>
      withBadRows(async ({ badRows, keep }) => {
        const rows = [badRow('1', 'x', 1), badRow('2', 'y', 2)]
        await keep(rows)
        await badRows.markReplayed(pipeId, ['1', 'unknown'])
        await badRows.markReplayed(pipeId, ['1'])
        assert.deepEqual(await badRows.listReplayed(pipeId, ['1', '2', 'unknown']), ['1'])
        assert.deepEqual(await badRows.listReplayed('another pipe', ['1']), [])
        await keep(rows)
        assert.deepEqual(
          (await badRows.list(pipeId, { limit: 10 })).map(({ id }) => id),
          ['2'],
        )
        assert.equal(await badRows.count(pipeId), 1)
      }))

    it('are counted by the day of their rejection, without those that were replayed', () =>
      withBadRows(async ({ badRows, keep }) => {
        // The engine removes older ones.
        const midnightMs = Math.floor(Date.now() / 86_400_000) * 86_400_000
        const times = [-1, 0, 5].map((ms) => new Date(midnightMs + ms).toISOString())
        const [yesterday, today] = times.map((at) => at.slice(0, 10))
        await keep(times.map((at, index) => ({ ...badRow(String(index), 'x'), at })))
        assert.deepEqual(await badRows.countByDay(pipeId), { [yesterday!]: 1, [today!]: 2 })
        await badRows.markReplayed(pipeId, ['2'])
        assert.deepEqual(await badRows.countByDay(pipeId), { [yesterday!]: 1, [today!]: 1 })
        assert.deepEqual(await badRows.countByDay('another pipe'), {})
      }))

    it('have the reason that was found last', () =>
      withBadRows(async ({ badRows, keep }) => {
        await keep([badRow('1', 'x')])
        await keep([{ ...badRow('1', 'x'), reason: 'another one' }])
        const [row] = await badRows.list(pipeId, { limit: 10 })
        assert.equal(row?.reason, 'another one')
      }))

    it('reject when the engine is not there', () =>
      withBadRows(async ({ badRows }) => {
        await engine.stop()
        try {
          await assert.rejects(badRows.list(pipeId, { limit: 10 }), EngineError)
        } finally {
          await engine.start()
        }
      }))
  })
}
