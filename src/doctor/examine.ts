// Runs all checks of an installation in order. Changes nothing except temporary files in the data folder; works while Penstock
// runs.
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
import { type CheckName, type Finding, problem, type Report, toFinding, withoutStop } from './finding.ts'
import { checkMemory, checkOpenFiles } from './limits.ts'
import { type Machine, thisMachine } from './machine.ts'
import { checkEgress, checkListening, checkSignInProvider, type DatabaseAddress } from './network.ts'
import { examinePostgres } from './postgres.ts'
import { checkSealedValues } from './sealed.ts'
import { examineSqlite } from './sqlite.ts'
import { findNewestActivity } from './store.ts'

export interface DoctorEnvironment {
  machine?: Machine
  /** Replaces the egress from the configuration. */
  egress?: Egress
}

/** Input of the checks that need a readable database. */
interface Readable {
  sql: Sql
  aheadMs: number | undefined
  isServed: boolean | undefined
}

/** Reports each check as soon as it is done. Checks whose precondition failed are skipped. */
export async function examine(config: Config, report: Report, environment: DoctorEnvironment = {}): Promise<void> {
  const { machine = thisMachine } = environment
  const clockSetBy = watchClock()
  report(checkListening(config))
  await examineMachine(config, machine, report)
  const { finding, keys } = await checkMasterKeyFile(config.masterKeyFile, machine.userId, () => isSetUp(config))
  report(finding)
  if (keys) report(checkKeyStrength(keys))

  const own = config.databaseUrl === undefined ? undefined : await addressOfDatabase(config.databaseUrl)
  const egress = environment.egress ?? openEgress(own ? config : { ...config, databaseUrl: undefined })
  await runCheck('database', report, async () => {
    await withDatabase(config, report, async (readable) => {
      await runCheck('clock', report, async () =>
        checkClock({
          aheadMs: readable.aheadMs,
          newestActivityId: await findNewestActivity(readable.sql),
          setByMs: clockSetBy(),
          nowMs: Date.now(),
        }),
      )
      await examineData(readable, keys, egress, report)
    })
    return []
  })
  await runCheck('egress', report, () => checkEgress(config, egress, own))
  await runCheck('sign-in provider', report, () => checkSignInProvider(config.oidc, config.operations.publicUrl))
}

/** True also when the database cannot be read. */
async function isSetUp(config: Config): Promise<boolean> {
  try {
    await withSnapshot(config, async () => undefined)
    return true
  } catch (error) {
    return !(error instanceof NotSetUpError)
  }
}

async function examineMachine({ dataFolder, databaseUrl }: Config, machine: Machine, report: Report): Promise<void> {
  report(checkDataFolder(dataFolder, machine.userId))
  const isFolder = existsSync(dataFolder) && statSync(dataFolder).isDirectory()
  if (isFolder) await examineDisk(dataFolder, databaseUrl === undefined, machine, report)
  report(checkOpenFiles(machine))
  report(checkMemory(machine))
}

async function examineDisk(folder: string, isDatabaseHere: boolean, machine: Machine, report: Report): Promise<void> {
  await runCheck('file system', report, () => checkFileSystem(folder, machine.fileSystemOf(folder)))
  await runCheck('disk sync', report, () => checkDiskSync(machine.measureSyncs(folder)))
  await runCheck('free space', report, () => checkFreeSpace(machine.fileSystemOf(folder), isDatabaseHere))
}

async function examineData(
  { sql, isServed }: Readable,
  keys: MasterKeys | undefined,
  egress: Egress,
  report: Report,
): Promise<void> {
  const vault = keys && new Vault(keys)
  if (vault) await runCheck('sealed values', report, () => checkSealedValues(sql, vault))
  await runCheck('audit chain', report, () => checkAuditChain(sql, Date.now()))
  await runCheck('pipes', report, () => checkPipes(sql))
  await runCheck('runners', report, () => checkRunners(sql, Date.now(), isServed))
  if (vault) await runCheck('engines', report, () => checkEngines(sql, vault, egress))
}

async function withDatabase(
  config: Config,
  report: Report,
  work: (readable: Readable) => Promise<void>,
): Promise<void> {
  const { databaseUrl } = config
  if (databaseUrl === undefined) {
    const file = join(config.dataFolder, 'penstock.db')
    if (!examineSqlite(file, report)) return
    const connection = openSqliteReadOnly(file)
    try {
      await work({ sql: connection, aheadMs: undefined, isServed: undefined })
    } finally {
      connection.close()
    }
    return
  }
  const examined = await examinePostgres(databaseUrl, report)
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
 * Address of the database as the driver parses it, independent of our own parsing in the egress rule. A Unix socket is replaced
 * by the TCP port on this machine.
 */
async function addressOfDatabase(databaseUrl: string): Promise<DatabaseAddress | undefined> {
  const { default: pg } = await import('pg')
  try {
    const { host, port } = new pg.Client({ connectionString: databaseUrl })
    return { host: host === '' || host.startsWith('/') ? 'localhost' : host, port }
  } catch {
    // An invalid URL is reported by the database check.
    return undefined
  }
}

/** An unexpected failure of one check must not prevent the others. */
async function runCheck(
  check: CheckName,
  report: Report,
  make: () => Finding | Finding[] | Promise<Finding | Finding[]>,
): Promise<void> {
  try {
    for (const finding of [await make()].flat()) report(finding)
  } catch (error) {
    const { code, name } = error as { code?: unknown; name?: string }
    const isKnown = error instanceof StartError
    const found = isKnown ? withoutStop(error.message) : `could not be looked at (${String(code ?? name)})`
    const remedy = 'run this as the user of the server; fix the problems above, and try again'
    report(toFinding(check, '', [problem(found, remedy)]))
  }
}
