// All checks of an installation, in their order. It changes nothing but for moments of files of its own in the data folder, and
// may be made while Penstock runs.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { openPostgresReadOnly } from '../database/postgres-read-only.ts'
import type { Sql } from '../database/sql.ts'
import { openSqliteReadOnly } from '../database/sqlite-read-only.ts'
import { withSnapshot } from '../installation/stored-data.ts'
import type { Egress } from '../lib/egress.ts'
import { NotSetUpError, StartError } from '../lib/start-error.ts'
import { type MasterKeys, Vault } from '../lib/vault.ts'
import { openEgress } from '../startup/open-egress.ts'
import { checkAuditChain, checkPipes, checkRunners } from './activity.ts'
import { checkClock, watchClock } from './clock.ts'
import { checkDiskSync, checkFileSystem, checkFreeSpace } from './disk.ts'
import { checkEngines } from './engines.ts'
import { checkDataFolder, checkKeyStrength, checkMasterKeyFile } from './files.ts'
import { type CheckName, type Finding, judge, problem, type Tell, withoutStop } from './finding.ts'
import { checkMemory, checkOpenFiles } from './limits.ts'
import { type Machine, thisMachine } from './machine.ts'
import { checkEgress, checkListening, checkSignInProvider, type DatabaseAddress } from './network.ts'
import { examinePostgres } from './postgres.ts'
import { checkSealedValues } from './sealed.ts'
import { examineSqlite } from './sqlite.ts'
import { findNewestActivity } from './store.ts'

export interface DoctorEnvironment {
  machine?: Machine
  /** In place of the one that the configuration makes. */
  egress?: Egress
}

/** What is left to look at when the database can be read. */
interface Readable {
  sql: Sql
  aheadMs: number | undefined
  isServed: boolean | undefined
}

/** Tells of each check as soon as it is made. What cannot be looked at, because something that it needs is not well, is not told of. */
export async function examine(config: Config, tell: Tell, surroundings: DoctorEnvironment = {}): Promise<void> {
  const { machine = thisMachine } = surroundings
  const clockSetBy = watchClock()
  tell(checkListening(config))
  await examineMachine(config, machine, tell)
  const { finding, keys } = await checkMasterKeyFile(config.masterKeyFile, machine.userId, () => isSetUp(config))
  tell(finding)
  if (keys) tell(checkKeyStrength(keys))

  const own = config.databaseUrl === undefined ? undefined : await placeOfDatabase(config.databaseUrl)
  const egress = surroundings.egress ?? openEgress(own ? config : { ...config, databaseUrl: undefined })
  await making('database', tell, async () => {
    await withDatabase(config, tell, async (readable) => {
      await making('clock', tell, async () =>
        checkClock({
          aheadMs: readable.aheadMs,
          newestActivityId: await findNewestActivity(readable.sql),
          setByMs: clockSetBy(),
          nowMs: Date.now(),
        }),
      )
      await examineData(readable, keys, egress, tell)
    })
    return []
  })
  await making('egress', tell, () => checkEgress(config, egress, own))
  await making('sign-in provider', tell, () => checkSignInProvider(config.oidc, config.operations.publicUrl))
}

/** What cannot be looked at may have data. */
async function isSetUp(config: Config): Promise<boolean> {
  try {
    await withSnapshot(config, async () => undefined)
    return true
  } catch (error) {
    return !(error instanceof NotSetUpError)
  }
}

async function examineMachine({ dataFolder, databaseUrl }: Config, machine: Machine, tell: Tell): Promise<void> {
  tell(checkDataFolder(dataFolder, machine.userId))
  const isFolder = existsSync(dataFolder) && statSync(dataFolder).isDirectory()
  if (isFolder) await examineDisk(dataFolder, databaseUrl === undefined, machine, tell)
  tell(checkOpenFiles(machine))
  tell(checkMemory(machine))
}

async function examineDisk(folder: string, isDatabaseHere: boolean, machine: Machine, tell: Tell): Promise<void> {
  await making('file system', tell, () => checkFileSystem(folder, machine.fileSystemOf(folder)))
  await making('disk sync', tell, () => checkDiskSync(machine.measureSyncs(folder)))
  await making('free space', tell, () => checkFreeSpace(machine.fileSystemOf(folder), isDatabaseHere))
}

async function examineData(
  { sql, isServed }: Readable,
  keys: MasterKeys | undefined,
  egress: Egress,
  tell: Tell,
): Promise<void> {
  const vault = keys && new Vault(keys)
  if (vault) await making('sealed values', tell, () => checkSealedValues(sql, vault))
  await making('audit chain', tell, () => checkAuditChain(sql, Date.now()))
  await making('pipes', tell, () => checkPipes(sql))
  await making('runners', tell, () => checkRunners(sql, Date.now(), isServed))
  if (vault) await making('engines', tell, () => checkEngines(sql, vault, egress))
}

async function withDatabase(config: Config, tell: Tell, work: (readable: Readable) => Promise<void>): Promise<void> {
  const { databaseUrl } = config
  if (databaseUrl === undefined) {
    const file = join(config.dataFolder, 'penstock.db')
    if (!examineSqlite(file, tell)) return
    const connection = openSqliteReadOnly(file)
    try {
      await work({ sql: connection, aheadMs: undefined, isServed: undefined })
    } finally {
      connection.close()
    }
    return
  }
  const examined = await examinePostgres(databaseUrl, tell)
  if (!examined?.isReadable) return
  const { aheadMs, isServed } = examined
  const { sql, close } = await openPostgresReadOnly(databaseUrl)
  try {
    await work({ sql, aheadMs, isServed })
  } finally {
    await close()
  }
}

/**
 * As the driver reads it: whether the way out is closed to it is checked, not what we made of the URL. A Unix socket has a port on
 * this machine beside it.
 */
async function placeOfDatabase(databaseUrl: string): Promise<DatabaseAddress | undefined> {
  const { default: pg } = await import('pg')
  try {
    const { host, port } = new pg.Client({ connectionString: databaseUrl })
    return { host: host === '' || host.startsWith('/') ? 'localhost' : host, port }
  } catch {
    // It is no URL, which the check of the database tells.
    return undefined
  }
}

/** A check that fails where nobody expected it must not keep the others from being made. */
async function making(
  check: CheckName,
  tell: Tell,
  make: () => Finding | Finding[] | Promise<Finding | Finding[]>,
): Promise<void> {
  try {
    for (const finding of [await make()].flat()) tell(finding)
  } catch (error) {
    const { code, name } = error as { code?: unknown; name?: string }
    const isKnown = error instanceof StartError
    const found = isKnown ? withoutStop(error.message) : `could not be looked at (${String(code ?? name)})`
    const remedy = 'run this as the user of the server; mend what is told above, and try again'
    tell(judge(check, '', [problem(found, remedy)]))
  }
}
