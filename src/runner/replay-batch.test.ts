// Replay of rejected rows: rows that the engine accepts now are in the table exactly once, whatever fails during the replay.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FaultMode, Faults } from '../../test/runner-world/faults.ts'
import { lineRows } from '../../test/runner-world/line-rows.ts'
import { LineEngine } from '../../test/runner-world/line-sink.ts'
import { MemoryStore } from '../../test/runner-world/memory-store.ts'
import { makeRunnerWorld } from '../../test/runner-world/runner-world.ts'
import type { BadRows } from '../engine/bad-rows.ts'
import { type BadRow, EngineError } from '../engine/engine.ts'
import { notARow } from './queue/given-up.ts'
import { type ReplayOutcome, replayBadRows } from './replay-batch.ts'

const noSignal = new AbortController().signal
const texts = ['fixed 1', 'BAD 2', 'fixed 3', 'UNREADABLE 4', 'same', 'same']

function keptRows(): Map<string, BadRow> {
  const rows = texts.map((text, index) => ({
    id: `id-${index}`,
    partition: 'a',
    position: `offset ${index}`,
    raw: Buffer.from(text),
    meta: '',
    reason: 'before',
    at: new Date(1_000 + index).toISOString(),
  }))
  return new Map(rows.map((row) => [row.id, row]))
}

interface World {
  engine: LineEngine
  store: MemoryStore
  replay(faults: Faults, epoch?: number): Promise<ReplayOutcome>
  listed(): BadRow[]
}

function makeWorld(): World {
  const engine = new LineEngine()
  const store = new MemoryStore()
  const replayed = new Set<string>()
  for (const [id, row] of keptRows()) engine.badRows.set(id, row)
  const listed = (): BadRow[] =>
    [...engine.badRows.values()]
      .filter(({ id }) => !replayed.has(id))
      .toSorted((one, other) => (one.at < other.at ? -1 : 1))
  const { parts } = makeRunnerWorld({
    kind: 'kafka',
    options: {},
    makeSource: () => {
      throw new Error('a replay reads no source')
    },
  })
  return {
    engine,
    store,
    listed,
    replay(faults, epoch = 1) {
      const process = faults.newProcess(() => undefined)
      const pass = <Result>(name: string, effect: () => Promise<Result>): Promise<Result> =>
        faults.call(name, process, effect, () => new EngineError('passing', 'away'))
      const badRows: BadRows = {
        list: async () => [],
        load: (_pipeId, { limit, after }) =>
          pass('load', async () =>
            listed()
              .filter(({ at }) => !after || at > after.at)
              .slice(0, Math.min(limit, 4)),
          ),
        count: async () => listed().length,
        countByDay: async () => ({}),
        markReplayed: (_pipeId, ids) =>
          pass('markReplayed', async () => {
            for (const id of ids) replayed.add(id)
          }),
        listReplayed: (_pipeId, ids) =>
          pass('listReplayed', async () => ids.filter((id) => replayed.has(id) && engine.badRows.has(id))),
        close: async () => undefined,
      }
      const own = store.of({ workerIndex: 0, workerCount: 1, epoch })
      const passing = {
        ...own,
        listDeliveries: () => pass('listDeliveries', () => own.listDeliveries()),
        begin: (delivery: Parameters<typeof own.begin>[0]) => pass('begin', () => own.begin(delivery)),
        finish: (change: Parameters<typeof own.finish>[0]) => pass('finish', () => own.finish(change)),
      }
      return replayBadRows({ ...parts, store: passing, openSink: async () => engine.sink(pass) }, badRows, {
        signal: noSignal,
        encode: async (kept) =>
          lineRows(kept.map(({ partition, raw }) => ({ partition, text: Buffer.from(raw).toString() }))),
      })
    },
  }
}

const goodTexts = ['fixed 1', 'fixed 3', 'same', 'same']

describe('replay', () => {
  it('inserts rows that the engine accepts now, and leaves the others with their present reason', async () => {
    const world = makeWorld()
    assert.deepEqual(await world.replay(new Faults([], 'fail')), { replayed: 4, rejected: 2 })
    assert.deepEqual(world.engine.lines.toSorted(), goodTexts.toSorted())
    assert.deepEqual(
      world.listed().map(({ id, reason }) => [id, reason]),
      [
        ['id-1', 'cannot take BAD 2'],
        ['id-3', 'unreadable'],
      ],
    )
    assert.equal(world.store.deliveries.size, 0)
    assert.equal(world.store.counters.rowsWritten, 4)
    assert.equal(world.store.counters.rowsReplayed, 4)
  })

  for (const mode of ['fail', 'lost', 'die'] satisfies FaultMode[]) {
    it(`inserts each row once when any call fails with "${mode}" and it is requested again after a change`, async () => {
      for (let at = 1; ; at++) {
        const world = makeWorld()
        const faults = new Faults([at], mode)
        const hasFailed = await world.replay(faults).then(
          () => false,
          () => true,
        )
        // The user has fixed another row since: a new batch would contain other rows.
        world.engine.takesAll = true
        await world.replay(new Faults([], 'fail'), 2)
        assert.deepEqual(world.engine.lines.toSorted(), [...goodTexts, 'BAD 2'].toSorted(), `call ${at}`)
        assert.deepEqual(
          world.listed().map(({ id }) => id),
          ['id-3'],
        )
        assert.equal(world.store.deliveries.size, 0)
        if (!hasFailed) break
      }
    })
  }

  it('marks no row that was not inserted when other rows of its batch have expired', async () => {
    const world = makeWorld()
    world.engine.refusal = new EngineError('passing', 'away')
    await assert.rejects(world.replay(new Faults([], 'fail')))
    assert.equal(world.store.deliveries.size, 1)
    world.engine.refusal = undefined
    world.engine.badRows.delete('id-0')
    await world.replay(new Faults([], 'fail'), 2)
    assert.deepEqual(world.engine.lines.toSorted(), ['fixed 3', 'same', 'same'])
    assert.deepEqual(
      world.listed().map(({ id }) => id),
      ['id-1', 'id-3'],
    )
    assert.equal(world.store.deliveries.size, 0)
  })

  it('inserts nothing twice when rows of a stored batch have expired', async () => {
    const world = makeWorld()
    const calls = new Faults([], 'fail')
    await makeWorld().replay(calls)
    await assert.rejects(world.replay(new Faults([calls.calls.indexOf('insert') + 1], 'lost')))
    const arrived = world.engine.lines.length
    assert.ok(arrived > 0)
    world.engine.badRows.delete('id-0')
    await world.replay(new Faults([], 'fail'), 2)
    assert.deepEqual(world.engine.lines.toSorted(), goodTexts.toSorted())
    assert.equal(world.store.deliveries.size, 0)
  })

  it('leaves entries that are not rows unchanged', async () => {
    const world = makeWorld()
    const [row] = world.listed()
    assert.ok(row)
    const message = { ...row, id: 'message', meta: notARow, reason: 'nobody understands it' }
    world.engine.badRows.set(message.id, message)
    assert.deepEqual(await world.replay(new Faults([], 'fail')), { replayed: 4, rejected: 2 })
    assert.deepEqual(world.engine.lines.toSorted(), goodTexts.toSorted())
    assert.deepEqual(
      world.listed().find(({ id }) => id === message.id),
      message,
    )
  })

  it('reports rows that may be stored already and are rejected now', async () => {
    const world = makeWorld()
    const at = ['listDeliveries', 'load', 'tryOut'].length
    let inserted = 0
    for (let call = at; inserted === 0; call++) {
      await world.replay(new Faults([call], 'lost')).catch(() => undefined)
      inserted = world.store.deliveries.size > 0 && world.engine.lines.length > 0 ? 1 : 0
    }
    world.engine.refusal = new EngineError('data', 'refused', 'refused')
    await assert.rejects(world.replay(new Faults([], 'fail'), 2), /may be in the table/)
    assert.equal(world.store.deliveries.size, 1)
  })
})
