// Finds the transaction that a connection waits for. Creating a replication slot waits for all running write transactions.
import type { PostgresLink } from './postgres-link.ts'

/** Backend process id of a connection. */
export async function processIdOf(link: PostgresLink): Promise<number> {
  const [row] = await link.query('SELECT pg_catalog.pg_backend_pid()')
  return Number(row?.[0])
}

/** The blocking transaction and how to end it, as text; undefined without one. It does not contain the statement. */
export async function findBlocker(link: PostgresLink, waitingProcessId: number): Promise<string | undefined> {
  const [found] = await link.query(
    `SELECT holder.pid, activity.usename,
       extract(epoch FROM now() - coalesce(activity.xact_start, prepared.prepared))::bigint, prepared.gid
     FROM pg_catalog.pg_locks waiting
     LEFT JOIN pg_catalog.pg_locks holder
       ON holder.locktype = 'transactionid' AND holder.transactionid = waiting.transactionid AND holder.granted
     LEFT JOIN pg_catalog.pg_stat_activity activity ON activity.pid = holder.pid
     LEFT JOIN pg_catalog.pg_prepared_xacts prepared ON prepared.transaction = waiting.transactionid
     WHERE waiting.pid = ${waitingProcessId} AND waiting.locktype = 'transactionid' AND NOT waiting.granted`,
  )
  if (!found) return undefined
  const [processId, user, seconds, prepared] = found
  const age = seconds === null || seconds === undefined ? '' : `, open for ${seconds} s`
  if (prepared) {
    const name = `'${prepared.replaceAll("'", "''")}'`
    return `the prepared transaction ${name}${age}; end it with COMMIT PREPARED ${name} or ROLLBACK PREPARED ${name}`
  }
  const owner = user ? ` of user ${JSON.stringify(user)}` : ''
  return `the transaction of process ${processId}${owner}${age}; wait for its end, or end it with SELECT pg_terminate_backend(${processId})`
}
