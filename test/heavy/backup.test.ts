// R17: a backup during writes is a consistent snapshot, on both databases, and a restore that is killed restores nothing or
// everything.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openExclusive } from '../../src/database/exclusive.ts'
import type { Dialect } from '../../src/database/sql.ts'
import { type DataSettings, dataLocation } from '../../src/installation/stored-data.ts'
import { newId } from '../../src/lib/id.ts'
import { auditOf, everything } from '../harness/whole-data.ts'
import { newData, runAndKill, runCommand, type Serving, serveSample, unlocked } from './commands.ts'

const backups = 4
const kills = 8
const endpointWriters = 4
const rowsOfLargeStore = 60_000

/** One object that a single writer changes repeatedly: every value that it sent, in order. */
interface Ledger {
  id: string
  path: string
  sent: string[]
  acknowledged: number
}

for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
  describe(`R17: a backup on ${dialect}`, () => {
    let folder: string
    let data: DataSettings
    let serving: Serving
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'penstock-backup-'))
      data = await newData(join(folder, 'data'), dialect)
      serving = await serveSample(data)
    })
    after(async () => {
      await serving?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    it(`${backups} times under load has every earlier acknowledged write, and no partial one`, {
      timeout: 600_000,
    }, async (test) => {
      const { sample, send } = serving
      const organization = `/v1/organizations/${sample.ORGANIZATION_ID}`
      const service = `${organization}/services/${sample.SERVICE_ID}`
      const ledger = (kind: string): Ledger => {
        const id = sample[`${kind}_PIPE_ID`]!
        return { id, path: `${service}/pipes/${id}`, sent: [], acknowledged: 0 }
      }
      const alone = [ledger('KAFKA'), ledger('KINESIS')]
      // One writer for both: changes of the second object imply those of the first.
      const leading = ledger('OBJECT_STORAGE')
      const following = ledger('POSTGRES')
      const ledgers = [...alone, leading, following]
      const endpoints = new Set<string>()
      let isOver = false
      const change = async (one: Ledger): Promise<void> => {
        const name = newId()
        one.sent.push(name)
        const { status, text } = await send('PATCH', one.path, { name }, { 'idempotency-key': name })
        assert.equal(status, 200, text)
        one.acknowledged++
      }
      const untilOver = async (step: () => Promise<void>): Promise<void> => {
        while (!isOver) await step()
      }
      const writers = [
        ...alone.map((one) => untilOver(() => change(one))),
        untilOver(async () => {
          await change(leading)
          await change(following)
        }),
        ...Array.from({ length: endpointWriters }, () =>
          untilOver(async () => {
            const id = `vpce-${newId().replaceAll('-', '').slice(0, 17)}`
            const { status, text } = await send('POST', `${service}/privateEndpoint`, { id, description: id })
            assert.equal(status, 200, text)
            endpoints.add(id)
          }),
        ),
      ]
      try {
        for (let number = 0; number < backups; number++) {
          await sleep(300)
          const file = join(folder, `${number}.gz`)
          const acknowledged = ledgers.map((one) => one.acknowledged)
          const endpointsBefore = [...endpoints]
          await runCommand(data, ['backup', file])
          const target = await newData(
            join(folder, `restored-${number}`),
            number % 2 === 0 ? 'sqlite' : 'postgres',
            data,
          )
          await runCommand(target, ['restore', file])
          const tables = await everything(target)
          const activities = new Map<string, number>()
          for (const { target } of tables.get('activities')!) {
            const { id } = JSON.parse(String(target)) as { id: string }
            activities.set(id, (activities.get(id) ?? 0) + 1)
          }
          const changes = ledgers.map((one, at) => {
            const pipe = tables.get('pipes')!.find(({ id }) => id === one.id)!
            const count = Number(pipe.version) - 1
            assert.ok(
              count >= acknowledged[at]!,
              `${one.path}: ${count} changes, ${acknowledged[at]} were acknowledged`,
            )
            if (count > 0) assert.equal(pipe.name, one.sent[count - 1])
            assert.equal(
              activities.get(one.id) ?? 0,
              count,
              `a change without its activity, or the other way around: ${one.path}`,
            )
            return count
          })
          const [, , ahead = 0, behind = 0] = changes
          assert.ok(ahead === behind || ahead === behind + 1, `${ahead} changes of the one, ${behind} of the other`)
          const attached = tables.get('service_private_endpoints')!.map((row) => String(row.endpoint_id))
          for (const id of endpointsBefore) assert.ok(attached.includes(id), `the acknowledged endpoint ${id} is lost`)
          for (const id of attached) assert.equal(activities.get(id), 1, `endpoint ${id} without its activity`)
          assert.deepEqual((await auditOf(target)).problems, [])
        }
      } finally {
        isOver = true
        await Promise.all(writers)
      }
      const written = ledgers.reduce((sum, one) => sum + one.acknowledged, endpoints.size)
      test.diagnostic(`${written} acknowledged writes, ${backups} backups`)
      assert.ok(written > 100, `only ${written} writes: the backups met an idle Penstock`)
    })
  })
}

describe('R17: a restore that is killed', () => {
  let folder: string
  let origin: DataSettings
  let file: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-restore-'))
    file = join(folder, 'large.gz')
    origin = await newData(join(folder, 'origin'), 'sqlite')
    const serving = await serveSample(origin)
    await serving.stop()
    const database = await openExclusive(dataLocation(origin), 'keys')
    const pipeId = serving.sample.KAFKA_PIPE_ID!
    await database.transaction(() =>
      database.insert(
        'pipe_positions',
        ['pipe_id', 'partition', 'position', 'epoch'],
        Array.from({ length: rowsOfLargeStore }, (_, number) => [pipeId, `orders/${number}`, newId(), 1]),
      ),
    )
    await database.close()
    await runCommand(origin, ['backup', file])
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
    it(`${kills} times on ${dialect} leaves nothing or everything, and the next restore completes`, {
      timeout: 600_000,
    }, async (test) => {
      const timed = await newData(join(folder, `timed-${dialect}`), dialect, origin)
      const startedMs = performance.now()
      await runCommand(timed, ['restore', file])
      let durationMs = performance.now() - startedMs
      const expected = await everything(timed)
      let target = await newData(join(folder, `killed-${dialect}`), dialect, origin)
      let killed = 0
      for (let number = 0; number < kills; number++) {
        // Later with each kill, into the middle and the end of the transaction.
        const afterMs = durationMs * (0.3 + (0.65 * number) / kills)
        if (await runAndKill(target, ['restore', file], afterMs)) {
          killed++
          if (await isWhole(target)) break
        } else if (killed > 0) break
        else {
          // The machine was busier when the duration was measured: retry with less.
          durationMs = afterMs
          target = await newData(join(folder, `killed-${dialect}-${number}`), dialect, origin)
        }
      }
      test.diagnostic(`${killed} kills of a restore that takes ${Math.round(durationMs)} ms`)
      assert.ok(killed > 0)
      if (!(await isWhole(target))) await restoreOnce(target)
      assert.deepEqual(withoutTimes(await everything(target)), withoutTimes(expected))
      assert.deepEqual((await auditOf(target)).problems, [])
    })
  }

  /** Whether all data is there; anything but all or nothing fails. */
  async function isWhole(target: DataSettings): Promise<boolean> {
    const database = await unlocked(() => openExclusive(dataLocation(target), 'schema'))
    try {
      const tables = await database.rows(
        database.dialect === 'sqlite'
          ? `SELECT name FROM sqlite_master WHERE type = 'table'`
          : `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`,
      )
      if (tables.length === 0) return false
      const [{ count } = { count: -1 }] = await database.rows('SELECT count(*) AS count FROM pipe_positions')
      assert.equal(Number(count), rowsOfLargeStore)
      return true
    } finally {
      await database.close()
    }
  }

  function restoreOnce(target: DataSettings): Promise<string> {
    return unlocked(() => runCommand(target, ['restore', file]))
  }

  /** A restore requests reloads at its own time. */
  function withoutTimes(tables: Awaited<ReturnType<typeof everything>>) {
    const pipes = tables.get('pipes')!.map((row) => ({ ...row, reload_requested_at: row.reload_requested_at !== null }))
    return new Map(tables).set('pipes', pipes)
  }
})
