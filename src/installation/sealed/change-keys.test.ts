import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { leastPipes, serviceOfPipes } from '../../../test/harness/pipes.ts'
import { freshPostgresDatabase, openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import { auditOf, everything, everythingOpened } from '../../../test/harness/whole-data.ts'
import type { Config } from '../../config.ts'
import { openExclusive } from '../../database/exclusive.ts'
import type { Dialect } from '../../database/sql.ts'
import { newId } from '../../lib/id.ts'
import { newMasterKeys, Vault } from '../../lib/vault.ts'
import { secretsContext } from '../../pipes/store.ts'
import { loadMasterKeys, writeMasterKeys } from '../master-keys.ts'
import { dataLocation } from '../stored-data.ts'
import { addKey, countByKey, removeKey, rotateKeys } from './change-keys.ts'
import { sealedColumns } from './store.ts'

async function valuesOf(config: Config): Promise<string[]> {
  const tables = await everything(config)
  return [...tables.values()].flat().flatMap((row) => Object.values(row).map(String))
}

const kept = (count: number, keyId: string) =>
  new Map([['k1', count], ...(keyId === 'k1' ? [] : [[keyId, 0] as const])])

for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
  describe(`the master keys on ${dialect}`, () => {
    let app: TestApp
    let config: Config
    let folder: string
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'penstock-keys-'))
      const context = { dataFolder: folder, masterKeyFile: join(folder, 'master-keys.json') }
      const databaseUrl = dialect === 'postgres' ? await freshPostgresDatabase() : undefined
      app = await openTestApp(dialect, { ...context, databaseUrl })
      config = app.config
      const { organizationId } = app.sample
      const { create, send, organizationId: another } = await serviceOfPipes(app)
      const { id } = await create(leastPipes.postgres)
      await app.query(`UPDATE pipes SET epoch = 1 WHERE id = '${id}'`)
      assert.equal((await send('DELETE', `/${id}`)).status, 200)
      for (let number = 0; number < 250; number++) {
        const headers = { 'idempotency-key': `key-${number}` }
        const answer = await app.request('PATCH', `/v1/organizations/${organizationId}`, {
          body: { name: `N${number}` },
          headers,
        })
        assert.equal(answer.status, 200)
      }
      // Sealed now, so that the sealer does not run between two reads of a test.
      for (const id of [organizationId, another])
        await app.app.database.write('sealActivities', { organizationId: id }, id)
      // SQLite allows no other process.
      if (dialect === 'sqlite') await app.close()
    })
    after(async () => {
      if (dialect === 'postgres') await app.close()
      rmSync(folder, { recursive: true, force: true })
    })

    it('the list has all sealed values, of every kind', async () => {
      const { current, byKey, byOthers } = await countByKey(config)
      assert.equal(current, 'k1')
      assert.equal(byOthers, 0)
      const opened = await everythingOpened(config)
      assert.deepEqual(byKey, kept(opened.size, 'k1'))
      for (const { table } of sealedColumns) {
        assert.ok(
          [...opened.keys()].some((name) => name.startsWith(`${table} `)),
          table,
        )
      }
    })

    it('a rotation seals all values again and changes nothing else', async () => {
      const opened = await everythingOpened(config)
      const audit = await auditOf(config)
      const before = loadMasterKeys(config.masterKeyFile)
      if (dialect === 'postgres') {
        await assert.rejects(rotateKeys(config), {
          name: 'StartError',
          message: /^Everything is sealed with k1\. For another key run "penstock keys add"/,
        })
        await addKey(config)
        assert.equal((await countByKey(config)).current, 'k1')
        await assert.rejects(addKey(config), { name: 'StartError', message: /was added already/ })
      }
      const { keyId, resealed, unopened, isFinished } = await rotateKeys(config)
      assert.deepEqual({ resealed, unopened, isFinished }, { resealed: opened.size, unopened: 0, isFinished: false })
      const keys = loadMasterKeys(config.masterKeyFile)
      assert.deepEqual(
        { current: keys.current, next: keys.next, pepper: keys.pepper },
        { current: keyId, next: undefined, pepper: before.pepper },
      )
      assert.equal(keys.keys.k1, before.keys.k1)
      assert.equal(statSync(config.masterKeyFile).mode & 0o777, 0o600)
      assert.deepEqual(await everythingOpened(config), opened)
      // Checks all columns, not only the known sealed ones.
      const values = await valuesOf(config)
      assert.equal(values.filter((value) => value.startsWith('k1.')).length, 0)
      assert.equal(values.filter((value) => value.startsWith(`${keyId}.`)).length, opened.size)
      assert.deepEqual(await auditOf(config), audit)
    })

    it('the next rotation finishes an interrupted one', async () => {
      const opened = await everythingOpened(config)
      const { current, ...others } = loadMasterKeys(config.masterKeyFile)
      writeMasterKeys(config.masterKeyFile, { ...others, current: 'k1' }, 'replace')
      const { keyId, resealed, isFinished } = await rotateKeys(config)
      assert.deepEqual({ keyId, resealed, isFinished }, { keyId: 'k1', resealed: opened.size, isFinished: true })
      writeMasterKeys(config.masterKeyFile, { ...others, current }, 'replace')
      assert.equal((await rotateKeys(config)).resealed, opened.size)
      assert.deepEqual(await everythingOpened(config), opened)
    })

    it('values that cannot be opened stay unchanged and do not block a rotation', async () => {
      const pipeId = app.sample.pipeIds.kafka
      const context = secretsContext({ id: pipeId, organizationId: app.sample.organizationId })
      const lost = new Vault(newMasterKeys()).seal('{}', context)
      const database = await openExclusive(dataLocation(config), 'keys')
      const [{ secrets }] = (await database.rows(`SELECT secrets FROM pipes WHERE id = '${pipeId}'`)) as [
        { secrets: string },
      ]
      await database.execute(`UPDATE pipes SET secrets = '${lost}' WHERE id = '${pipeId}'`)
      await database.close()
      if (dialect === 'postgres') await addKey(config)
      const { unopened, isFinished } = await rotateKeys(config)
      assert.deepEqual({ unopened, isFinished }, { unopened: 1, isFinished: false })
      assert.ok((await valuesOf(config)).includes(lost))
      await assert.rejects(removeKey(config, 'k1'), {
        name: 'StartError',
        message: /^1 value is still sealed with k1\. /,
      })
      const again = await openExclusive(dataLocation(config), 'keys')
      await again.execute(`UPDATE pipes SET secrets = '${secrets}' WHERE id = '${pipeId}'`)
      await again.close()
      assert.equal((await rotateKeys(config)).isFinished, true)
    })

    it('a key is removed only when it is no longer used', async () => {
      const { current } = loadMasterKeys(config.masterKeyFile)
      await assert.rejects(removeKey(config, current), {
        message: /is the current master key\. Run "penstock keys rotate" first/,
      })
      await assert.rejects(removeKey(config, 'k99'), { message: /^There is no master key "k99" in / })
      if (dialect === 'postgres') {
        await assert.rejects(removeKey(config, 'k1'), { message: /less than a minute ago/ })
        const longAgo = new Date(Date.now() - 120_000)
        utimesSync(config.masterKeyFile, longAgo, longAgo)
      }
      const opened = await everythingOpened(config)
      await removeKey(config, 'k1')
      assert.equal(loadMasterKeys(config.masterKeyFile).keys.k1, undefined)
      assert.deepEqual(await everythingOpened(config), opened)
    })

    it('two commands never change them concurrently', async () => {
      const database = await openExclusive(dataLocation(config), 'keys')
      const before = readFileSync(config.masterKeyFile, 'utf8')
      try {
        for (const change of [addKey, rotateKeys, (settings: Config) => removeKey(settings, 'k2')]) {
          await assert.rejects(change(config), { name: 'StartError', message: /is running on|Another command/ })
        }
      } finally {
        await database.close()
      }
      assert.equal(readFileSync(config.masterKeyFile, 'utf8'), before)
    })

    if (dialect === 'postgres') {
      it('a running process opens values sealed again, and seals with the new key', async () => {
        const { organizationId, pipeIds, serviceId } = app.sample
        const headers = { 'idempotency-key': 'key-7' }
        const replayed = await app.request('PATCH', `/v1/organizations/${organizationId}`, {
          body: { name: 'N7' },
          headers,
        })
        assert.equal(replayed.status, 200)
        assert.equal(replayed.body.result.name, 'N7')
        await addKey(config)
        const { keyId } = await rotateKeys(config)
        const path = `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds.kafka}`
        const body = { source: { kafka: { credentials: { username: 'u', password: newId() } } } }
        const changed = await app.request('PATCH', path, { body })
        assert.equal(changed.status, 200, changed.text)
        const [{ secrets }] = (await app.query(`SELECT secrets FROM pipes WHERE id = '${pipeIds.kafka}'`)) as [
          { secrets: string },
        ]
        assert.ok(secrets.startsWith(`${keyId}.`))
      })
    }
  })
}

describe('what seals', () => {
  it('is known: new sealed columns must be added to the list', () => {
    const root = join(import.meta.dirname, '../../..')
    const sealing = globSync('src/**/*.ts', { cwd: root })
      .filter((file) => !file.endsWith('.test.ts') && /vault\.seal\(/i.test(readFileSync(join(root, file), 'utf8')))
      .sort()
    assert.deepEqual(sealing, [
      // In a cookie that is valid for ten minutes.
      'src/accounts/oidc.ts',
      'src/execution/execute-operation.ts',
      'src/installation/key-check.ts',
      'src/installation/sample.ts',
      'src/installation/sealed/reseal.ts',
      'src/pipes/store.ts',
      'src/services/create-service.ts',
      'src/services/update-service.ts',
    ])
  })
})
