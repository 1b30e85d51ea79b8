// Data files of Penstock that are deleted or replaced while it runs.
import assert from 'node:assert/strict'
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTestApp, type TestApp } from '../harness/test-app.ts'

async function withApp(dialect: TestApp['dialect'], test: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await openTestApp(dialect)
  try {
    await test(app)
  } finally {
    await app.close()
  }
}

/** Penstock checks the files once per second. */
async function ends(app: TestApp): Promise<void> {
  for (let waits = 0; waits < 200 && app.fatal.length === 0; waits++) await sleep(50)
  assert.deepEqual(app.fatal, ['deleted'])
}

const goesOn = async (app: TestApp): Promise<void> => {
  await sleep(2_500)
  assert.deepEqual(app.fatal, [])
}

const rename = ({ sample, request }: TestApp, name: string) =>
  request('PATCH', `/v1/organizations/${sample.organizationId}/services/${sample.serviceId}`, { body: { name } })

describe('deleted data', () => {
  it('stops a Penstock on SQLite, which acknowledges no more writes', () =>
    withApp('sqlite', async (app) => {
      assert.equal((await rename(app, 'kept')).status, 200)
      rmSync(app.config.dataFolder, { recursive: true })
      await ends(app)
      assert.equal((await rename(app, 'lost')).status, 503)
    }))

  it('stops a Penstock whose data folder was replaced', () =>
    withApp('sqlite', async (app) => {
      const { dataFolder } = app.config
      renameSync(dataFolder, `${dataFolder}-before`)
      cpSync(`${dataFolder}-before`, dataFolder, { recursive: true })
      await ends(app)
      rmSync(`${dataFolder}-before`, { recursive: true })
    }))

  it('stops a Penstock whose database file was replaced', () =>
    withApp('sqlite', async (app) => {
      const file = join(app.config.dataFolder, 'penstock.db')
      rmSync(file)
      writeFileSync(file, '')
      await ends(app)
    }))

  it('stops a Penstock on PostgreSQL whose master key file was deleted', () =>
    withApp('postgres', async (app) => {
      rmSync(app.config.masterKeyFile)
      await ends(app)
    }))

  it('does not stop a Penstock whose master keys were changed', () =>
    withApp('postgres', async (app) => {
      const { masterKeyFile } = app.config
      cpSync(masterKeyFile, `${masterKeyFile}.new`)
      renameSync(`${masterKeyFile}.new`, masterKeyFile)
      await goesOn(app)
    }))
})
