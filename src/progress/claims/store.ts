// Partitions that one worker of a pipe has for good, such as an object that a queue tells of. Claims are made under the lock of
// the organization, so of several who claim the same, one has it. A finished one is remembered: told of again, nothing is done.
import { hash } from 'node:crypto'
import { type Sql, statement } from '../../database/sql.ts'
import type { Claim } from '../../runner/worker.ts'

/** As it is kept. */
export type PartitionName = { pipeId: string; partition: string }

type FinishedName = { pipeId: string; digest: string }

const claimStatement = statement<PartitionName & { slot: number; slots: number; epoch: number }>(
  // What a worker had that is not there any more is the first one's.
  `INSERT INTO pipe_positions (pipe_id, partition, position, slot, epoch) VALUES (:pipeId, :partition, '', :slot, :epoch)
   ON CONFLICT (pipe_id, partition) DO UPDATE SET slot = excluded.slot, epoch = excluded.epoch
     WHERE excluded.slot = 0 AND pipe_positions.slot >= :slots`,
)
const ownerStatement = statement<PartitionName, { slot: number | null }>(
  'SELECT slot FROM pipe_positions WHERE pipe_id = :pipeId AND partition = :partition',
)
const removeClaimStatement = statement<PartitionName>(
  'DELETE FROM pipe_positions WHERE pipe_id = :pipeId AND partition = :partition AND slot IS NOT NULL',
)
const rememberStatement = statement<FinishedName & { now: string }>(
  'INSERT INTO finished_partitions (pipe_id, digest, finished_at) VALUES (:pipeId, :digest, :now)',
)
const finishedStatement = statement<FinishedName, { pipe_id: string }>(
  'SELECT pipe_id FROM finished_partitions WHERE pipe_id = :pipeId AND digest = :digest',
)
const forgetStatement = statement<{ before: string; rows: number }>(
  // In their order, because PostgreSQL might otherwise look for them in the whole table.
  `DELETE FROM finished_partitions WHERE (pipe_id, digest) IN
     (SELECT pipe_id, digest FROM finished_partitions WHERE finished_at < :before ORDER BY finished_at LIMIT :rows)`,
)

/** Longer than any queue keeps a message. */
const keptFinishedMs = 15 * 24 * 3_600_000

export interface Claimer {
  slot: number
  slots: number
  epoch: number
}

/** Of each, in their order. Call with the organization locked. */
export async function claimAll(sql: Sql, names: PartitionName[], { slot, slots, epoch }: Claimer): Promise<Claim[]> {
  // All at once: PostgreSQL is not waited for between them.
  const areFinished = await Promise.all(names.map((name) => isFinished(sql, name)))
  return Promise.all(
    names.map(async (name, index) => {
      if (areFinished[index]) return 'finished'
      if ((await sql.run(claimStatement, { ...name, slot, slots, epoch })) === 1) return 'mine'
      const owner = await sql.first(ownerStatement, name)
      if (owner === undefined || owner.slot === null) throw new Error('claimed what is not to be claimed')
      return owner.slot === slot ? 'mine' : 'others'
    }),
  )
}

/** Whether it was claimed; it is remembered then. Call with the organization locked. */
export async function finishClaim(sql: Sql, name: PartitionName, now: string): Promise<boolean> {
  if ((await sql.run(removeClaimStatement, name)) === 0) return false
  await sql.run(rememberStatement, { ...finishedName(name), now })
  return true
}

export async function isFinished(sql: Sql, name: PartitionName): Promise<boolean> {
  return (await sql.first(finishedStatement, finishedName(name))) !== undefined
}

/** A thousand at most; returns how many. */
export async function forgetFinishedPartitions(sql: Sql, { now }: { now: string }): Promise<number> {
  const before = new Date(Date.parse(now) - keptFinishedMs).toISOString()
  return sql.run(forgetStatement, { before, rows: 1000 })
}

function finishedName({ pipeId, partition }: PartitionName): FinishedName {
  return { pipeId, digest: hash('sha256', partition, 'hex') }
}
