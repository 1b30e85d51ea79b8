// S9: a rotation of the master keys that is killed at any moment leaves everything sealed openable, and is finished by the next one;
// on PostgreSQL also while a Penstock writes.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openExclusive } from '../../src/database/exclusive.ts'
import type { Dialect } from '../../src/database/sql.ts'
import { answerContext } from '../../src/idempotency/store.ts'
import { loadMasterKeys } from '../../src/installation/master-keys.ts'
import { countByKey } from '../../src/installation/sealed/change-keys.ts'
import { type DataSettings, placeOf } from '../../src/installation/stored-data.ts'
import { newId } from '../../src/lib/id.ts'
import { Vault } from '../../src/lib/vault.ts'
import { auditOf, everythingOpened } from '../whole-data.ts'
import { newPlace, runAndKill, runCommand, type Serving, serveSample, unlocked } from './commands.ts'

const kills = 8
const sealedAnswers = 3_000
const writers = 6
/** They are to meet the rotation, and not to take its time. */
const writerRestMs = 20

for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
  describe(`S9: a rotation on ${dialect}`, () => {
    let folder: string
    let place: DataSettings
    let serving: Serving
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'penstock-keys-'))
      place = await newPlace(join(folder, 'data'), dialect)
      serving = await serveSample(place)
      if (dialect === 'sqlite') await serving.stop()
      await addAnswers(place, serving.sample.ORGANIZATION_ID!)
    })
    after(async () => {
      await serving?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    it(`killed ${kills} times can be finished, and nothing sealed is lost`, { timeout: 600_000 }, async (test) => {
      const opened = await everythingOpened(place)
      await addOne()
      const startedMs = performance.now()
      await rotate()
      let durationMs = performance.now() - startedMs
      const load = dialect === 'postgres' ? startLoad() : undefined
      let killed = 0
      try {
        for (let number = 0; number < kills; number++) {
          await addOne()
          const afterMs = durationMs * (0.15 + (0.8 * number) / kills)
          if (await runAndKill(place, ['keys', 'rotate'], afterMs)) killed++
          // The machine was busier when the time was taken: it does not take longer than this.
          else durationMs = afterMs
          const now = await unlocked(() => everythingOpened(place))
          for (const [name, text] of opened) assert.equal(now.get(name), text, name)
        }
      } finally {
        await load?.end()
      }
      test.diagnostic(
        `${killed} kills of a rotation that takes ${Math.round(durationMs)} ms, ${load?.written() ?? 0} writes meanwhile`,
      )
      assert.ok(killed >= 2, `only ${killed} kills met a rotation`)
      await unlocked(() => rotate())
      const { current, byKey, byOthers } = await countByKey(place)
      const left = [...byKey].filter(([id, count]) => id !== current && count > 0)
      assert.deepEqual({ left, byOthers }, { left: [], byOthers: 0 })
      const after = await everythingOpened(place)
      for (const [name, text] of opened) assert.equal(after.get(name), text, name)
      assert.equal(byKey.get(current), after.size)
      assert.deepEqual((await auditOf(place)).problems, [])
      if (load) {
        assert.ok(load.written() > 50, `only ${load.written()} writes`)
        await load.repeat()
      }
    })

    /** With PostgreSQL a key is added first; one that is waiting already will do. */
    async function addOne(): Promise<void> {
      if (dialect === 'sqlite' || loadMasterKeys(place.masterKeyFile).next !== undefined) return
      await unlocked(() => runCommand(place, ['keys', 'add']))
    }

    async function rotate(): Promise<void> {
      await addOne()
      await runCommand(place, ['keys', 'rotate'])
    }

    /** Writers whose answers are sealed; each is asked for again, and must be the same. */
    function startLoad() {
      const answers = new Map<string, string>()
      const path = `/v1/organizations/${serving.sample.ORGANIZATION_ID}/services/${serving.sample.SERVICE_ID}/pipes/${serving.sample.KAFKA_PIPE_ID}`
      let isOver = false
      const write = async (name: string): Promise<string> => {
        const { status, text } = await serving.send('PATCH', path, { name }, { 'idempotency-key': name })
        assert.equal(status, 200, text)
        return resultOf(text)
      }
      const running = Array.from({ length: writers }, async () => {
        while (!isOver) {
          const name = newId()
          answers.set(name, await write(name))
          assert.equal(await write(name), answers.get(name))
          await sleep(writerRestMs)
        }
      })
      return {
        written: () => answers.size,
        end: () => {
          isOver = true
          return Promise.all(running)
        },
        repeat: async () => {
          for (const [name, answer] of answers) assert.equal(await write(name), answer)
        },
      }
    }
  })
}

function resultOf(text: string): string {
  return JSON.stringify((JSON.parse(text) as { result: unknown }).result)
}

async function addAnswers(place: DataSettings, organizationId: string): Promise<void> {
  const vault = new Vault(loadMasterKeys(place.masterKeyFile))
  const database = await openExclusive(placeOf(place), 'keys')
  const now = new Date().toISOString()
  const rows = Array.from({ length: sealedAnswers }, (_, number) => {
    const key = { organizationId, callerId: 'nobody', idempotencyKey: `key-${number}` }
    const answer = vault.seal(JSON.stringify({ number }), answerContext(key))
    return [organizationId, key.callerId, key.idempotencyKey, 'f', answer, now]
  })
  const columns = ['organization_id', 'caller_id', 'idempotency_key', 'fingerprint', 'answer', 'created_at']
  await database.transaction(() => database.insert('idempotency_records', columns, rows))
  await database.close()
}
