import { type ChainReport, hasTraces, verifyChain, verifyChains } from '../activities/seal.ts'
import { readConfig } from '../config.ts'
import { StartError } from '../lib/start-error.ts'
import { openStoredData } from '../startup/open-database.ts'

export interface AuditOptions {
  organizationId?: string
}

/** Verifies every chain of seals and prints the first bad row of each; exit code 1 when there is one. */
export async function verifyAudit(options: AuditOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const organizationId = options.organizationId?.toLowerCase()
  if (organizationId !== undefined && !/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(organizationId)) {
    throw new StartError(`--organization-id must be a uuid, not ${JSON.stringify(options.organizationId)}.`)
  }
  const data = await openStoredData(config)
  try {
    // A mistyped id must not look like tampering.
    if (organizationId !== undefined && !(await hasTraces(data.sql, organizationId))) {
      throw new StartError(`There is no organization ${organizationId} here, nor anything left of one.`)
    }
    let bad = 0
    for await (const report of organizationId === undefined
      ? verifyChains(data.sql, data.vault)
      : [await verifyChain(data.sql, data.vault, organizationId)]) {
      if (report.problem === undefined) console.log(`organization ${report.organizationId}: ${summary(report)}`)
      else {
        bad++
        console.error(`BAD: ${report.problem} (${report.sealed} activities before it are as they were sealed)`)
      }
    }
    if (bad > 0) process.exitCode = 1
    else console.log('All activities are as they were sealed.')
  } finally {
    await data.close()
  }
}

function summary({ sealed, seals, waiting }: ChainReport): string {
  return `${plural(sealed, 'activity', 'activities')} in ${plural(seals, 'seal', 'seals')}, ${waiting} waiting for the next seal`
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
