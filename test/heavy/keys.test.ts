// S9: a master key rotation that is killed at any time leaves every sealed value readable, and the next rotation completes it; on
// PostgreSQL also while a Penstock writes.
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
import { type DataSettings, dataLocation } from '../../src/installation/stored-data.ts'
import { newId } from '../../src/lib/id.ts'
import { Vault } from '../../src/lib/vault.ts'
import { auditOf, everythingOpened } from '../harness/whole-data.ts'
import { newData, runAndKill, runCommand, type Serving, serveSample, unlocked } from './commands.ts'

const kills = 8
const sealedAnswers = 3_000
const writers = 6
/** Writes must overlap the rotation without slowing it down. */
const writerRestMs = 20

for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
  describe(`S9: a rotation on ${dialect}`, () => {
    let folder: string
    let data: DataSettings
    let serving: Serving
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'penstock-keys-'))
      data = await newData(join(folder, 'data'), dialect)
      serving = await serveSample(data)
      if (dialect === 'sqlite') await serving.stop()
      await addAnswers(data, serving.sample.ORGANIZATION_ID!)
    })
    after(async () => {
      await serving?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    it(`killed ${kills} times can be completed, and no sealed value is lost`, { timeout: 600_000 }, async (test) => {
      const opened = await everythingOpened(data)
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
          if (await runAndKill(data, ['keys', 'rotate'], afterMs)) killed++
          // The machine was busier when the duration was measured: use this time as the limit.
          else durationMs = afterMs
          const now = await unlocked(() => everythingOpened(data))
          for (const [name, text] of opened) assert.equal(now.get(name), text, name)
        }
      } finally {
        await load?.end()
      }
      test.diagnostic(
        `${killed} kills of a rotation that takes ${Math.round(durationMs)} ms, ${load?.written() ?? 0} writes during it`,
      )
      assert.ok(killed >= 2, `only ${killed} kills met a rotation`)
      await unlocked(() => rotate())
      const { current, byKey, byOthers } = await countByKey(data)
      const left = [...byKey].filter(([id, count]) => id !== current && count > 0)
      assert.deepEqual({ left, byOthers }, { left: [], byOthers: 0 })
      const after = await everythingOpened(data)
      for (const [name, text] of opened) assert.equal(after.get(name), text, name)
      assert.equal(byKey.get(current), after.size)
      assert.deepEqual((await auditOf(data)).problems, [])
      if (load) {
        assert.ok(load.written() > 50, `only ${load.written()} writes`)
        await load.repeat()
      }
    })

    /** PostgreSQL requires `keys add` first; a key that is already pending suffices. */
    async function addOne(): Promise<void> {
      if (dialect === 'sqlite' || loadMasterKeys(data.masterKeyFile).next !== undefined) return
      await unlocked(() => runCommand(data, ['keys', 'add']))
    }

    async function rotate(): Promise<void> {
      await addOne()
      await runCommand(data, ['keys', 'rotate'])
    }

    /** Writers whose answers are sealed; each request is repeated, and must get the same answer. */
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

async function addAnswers(data: DataSettings, organizationId: string): Promise<void> {
  const vault = new Vault(loadMasterKeys(data.masterKeyFile))
  const database = await openExclusive(dataLocation(data), 'keys')
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
