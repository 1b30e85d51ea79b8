// Errors for files and folders of another user, and for paths that are not folders.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Config, readConfig } from '../config.ts'
import { readMasterKeys } from '../installation/master-keys.ts'
import { prepareFolder } from '../startup/open-database.ts'

const nobody = 65_534
const isRoot = process.geteuid?.() === 0

describe('a file without access', () => {
  let folder: string
  let config: Config
  let other: string
  before(() => {
    // Not in the folder of the tests, which other users cannot read.
    folder = mkdtempSync('/tmp/penstock-access-')
    chmodSync(folder, 0o755)
    const dataFolder = join(folder, 'data')
    config = readConfig({ PENSTOCK_DATA: dataFolder }, { logLevel: 'warn' })
    mkdirSync(dataFolder, { mode: 0o700 })
    writeFileSync(config.masterKeyFile, '{}', { mode: 0o600 })
    other = join(folder, 'keys.json')
    writeFileSync(other, '{}', { mode: 0o600 })
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  function asNobody(work: () => void): void {
    process.seteuid!(nobody)
    try {
      work()
    } finally {
      process.seteuid!(0)
    }
  }

  it('is reported with its owner', { skip: !isRoot && 'only root can become another user' }, () => {
    const { dataFolder, masterKeyFile } = config
    const owner = (path: string) => `${path} belongs to user 0, and this is run by user ${nobody}. Run it as user 0, or`
    asNobody(() => {
      assert.throws(() => prepareFolder(config), {
        message: `The data folder ${dataFolder} cannot be used: ${owner(dataFolder)} set PENSTOCK_DATA to a folder that this user may write.`,
      })
      const remedy = 'set PENSTOCK_DATA (or PENSTOCK_MASTER_KEY_FILE) to the right path.'
      // Files in a closed folder cannot be examined, so the folder is reported.
      for (const [file, closed] of [
        [masterKeyFile, dataFolder],
        [other, other],
      ] as const) {
        assert.throws(() => readMasterKeys(file), {
          message: `The master key file ${file} cannot be read: ${owner(closed)} ${remedy}`,
        })
      }
    })
  })

  it('is reported as closed to its owner', { skip: isRoot && 'nothing is closed to root' }, () => {
    chmodSync(other, 0)
    assert.throws(() => readMasterKeys(other), /keys\.json is closed to its owner\. Run "chmod u\+rw .*keys\.json", or/)
  })

  it('is reported as not a folder', () => {
    const paths = { dataFolder: other, masterKeyFile: join(other, 'master-keys.json') }
    assert.throws(() => prepareFolder({ ...config, ...paths }), {
      message: `The data folder ${other} is not a folder. Set PENSTOCK_DATA to one.`,
    })
    assert.throws(
      () => readMasterKeys(paths.masterKeyFile),
      /cannot be read: .*keys\.json is not a folder; set PENSTOCK/,
    )
  })
})
