// As a person meets them: what the commands about backups and master keys print, and how they end.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshPostgresDatabase, onBothDatabases } from '../../test/harness/test-app.ts'
import type { MasterKeys } from '../lib/vault.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/penstock', import.meta.url))

interface Ended {
  code: number
  printed: string
  error: string
}

onBothDatabases('the commands about all data', (app) => {
  let folder: string
  let backupFile: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-commands-'))
    backupFile = join(folder, 'backup.gz')
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  function run(
    args: string[],
    place: { data: string; url?: string | undefined; masterKeyFile?: string },
  ): Promise<Ended> {
    const env = {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: compileCache,
      PENSTOCK_DATA: place.data,
      ...(place.url === undefined ? {} : { DATABASE_URL: place.url }),
      ...(place.masterKeyFile === undefined ? {} : { PENSTOCK_MASTER_KEY_FILE: place.masterKeyFile }),
    }
    return new Promise((resolve) => {
      execFile(process.execPath, [program, ...args], { env, timeout: 60_000 }, (err, stdout, stderr) =>
        resolve({ code: err ? Number(err.code ?? -1) : 0, printed: stdout, error: stderr }),
      )
    })
  }
  const here = () => ({ data: app().config.dataFolder, url: app().config.databaseUrl })
  const keys = () => JSON.parse(readFileSync(app().config.masterKeyFile, 'utf8')) as MasterKeys

  function refused({ code, error }: Ended, sentence: RegExp): void {
    assert.equal(code, 1, error)
    assert.match(error.trim(), sentence)
    assert.equal(error.trim().split('\n').length, 1, error)
  }

  it('back up a running Penstock, and restore it into an empty folder', async () => {
    const made = await run(['backup', backupFile], here())
    assert.deepEqual({ code: made.code, error: made.error }, { code: 0, error: '' })
    assert.match(made.printed, /backup\.gz: \d+ rows of \d+ tables, \d+ bytes, as of \d{4}-/)
    assert.match(made.printed, /master-keys\.json is needed too \(master keys: k1\)\. Keep it somewhere else\.$/m)

    const data = join(folder, 'restored')
    mkdirSync(data, { mode: 0o700 })
    const place = { data, url: app().dialect === 'postgres' ? await freshPostgresDatabase() : undefined }
    refused(await run(['restore', backupFile], place), /^The master key file .* is missing\./)
    copyFileSync(app().config.masterKeyFile, join(data, 'master-keys.json'))
    const restored = await run(['restore', backupFile], place)
    assert.deepEqual({ code: restored.code, error: restored.error }, { code: 0, error: '' })
    assert.match(restored.printed, /^Restored \d+ rows, as they were at /)
    assert.match(
      restored.printed,
      /^Its 4 pipes do not run: read "After a restore" in docs\/how-to\/back-up-and-restore\.md before you start them\.$/m,
    )
    assert.equal((await run(['audit', 'verify'], place)).code, 0)
    refused(await run(['restore', backupFile], place), /^There is a Penstock with data here already\./)
  })

  it('refuse invalid requests in one sentence', async () => {
    refused(
      await run(['backup', backupFile], here()),
      /exists already\. Name a new file for the backup, or a folder\.$/,
    )
    const damaged = join(folder, 'damaged.gz')
    writeFileSync(damaged, readFileSync(backupFile).subarray(10))
    refused(
      await run(['restore', damaged], here()),
      /damaged\.gz is damaged, or is not a backup\. Nothing was restored;/,
    )
    refused(await run(['restore', join(folder, 'none.gz')], here()), /none\.gz cannot be read \(ENOENT\)\.$/)
    const running =
      app().dialect === 'sqlite' ? /^Penstock is running on .*Stop Penstock first\.$/ : /with data here already/
    refused(await run(['restore', backupFile], here()), running)
    const rotated = app().dialect === 'sqlite' ? running : /^Everything is sealed with k1\./
    refused(await run(['keys', 'rotate'], here()), rotated)
  })

  it('report a Penstock that was never set up, and lost keys', async () => {
    const data = join(folder, 'never')
    mkdirSync(data, { mode: 0o700 })
    const place = { data, url: app().dialect === 'postgres' ? await freshPostgresDatabase() : undefined }
    const commands = [
      ['keys', 'list'],
      ['keys', 'rotate'],
      ['backup', join(folder, 'never.gz')],
    ]
    const notSetUp = /has not been set up yet.* Run "penstock init", or correct PENSTOCK_DATA/
    for (const command of commands) refused(await run(command, place), notSetUp)
    // Leaves a database without an organization.
    refused(await run(['start'], place), /has not been set up yet/)
    for (const command of commands) refused(await run(command, place), notSetUp)
    const examined = await run(['doctor'], place)
    assert.match(examined.printed, /master key file .* has not been set up yet; remedy: run "penstock init"/)
    assert.doesNotMatch(examined.printed, /from your backup/)

    const withoutKeys = { ...here(), masterKeyFile: join(folder, 'none.json') }
    const lost = /^The master key file .* is missing, and the database has secrets sealed with it\. Restore the file/
    for (const command of commands) refused(await run(command, withoutKeys), lost)
  })

  it('list the key ids without showing keys', async () => {
    const listed = await run(['keys', 'list'], here())
    assert.deepEqual({ code: listed.code, error: listed.error }, { code: 0, error: '' })
    assert.match(listed.printed, /^k1 \(current\): \d+ values sealed with it\n$/)
    assert.ok(!listed.printed.includes(keys().keys.k1!))
  })

  it('rotate the keys', async () => {
    // With SQLite on the restored data, because the other Penstock runs.
    const place = app().dialect === 'postgres' ? here() : { data: join(folder, 'restored') }
    const added = await run(['keys', 'add'], place)
    assert.match(added.printed, /^Added the master key k2-[0-9a-f]{6} to .*; nothing is sealed with it yet\.$/m)
    assert.match((await run(['keys', 'list'], place)).printed, /^k2-[0-9a-f]{6} \(next\): 0 values sealed with it$/m)
    const rotated = await run(['keys', 'rotate'], place)
    assert.deepEqual({ code: rotated.code, error: rotated.error }, { code: 0, error: '' })
    assert.match(rotated.printed, /^k2-[0-9a-f]{6} is the current master key; \d+ values sealed again with it\.$/m)
    const listed = (await run(['keys', 'list'], place)).printed
    assert.match(listed, /^k1: 0 values sealed with it\nk2-[0-9a-f]{6} \(current\): [1-9]\d* values sealed with it\n$/)
    assert.equal((await run(['audit', 'verify'], place)).code, 0)
  })
})
