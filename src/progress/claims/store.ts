// Partitions that one worker of a pipe keeps until they are finished, such as an object that a queue reports. Claims are made under the
// lock of the organization, so that only one worker gets a partition. Finished ones are remembered: a repeated message is ignored.
import { hash } from 'node:crypto'
import { type Sql, statement } from '../../database/sql.ts'
import type { Claim } from '../delivery.ts'

/** As stored. */
export type PartitionName = { pipeId: string; partition: string }

type FinishedName = { pipeId: string; digest: string }

const claimStatement = statement<PartitionName & { slot: number; slots: number; epoch: number }>(
  // The first worker takes over partitions of workers that no longer exist.
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
  // Ordered, because PostgreSQL might otherwise scan the whole table.
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

/** One result per name, in their order. Call with the organization locked. */
export async function claimAll(sql: Sql, names: PartitionName[], { slot, slots, epoch }: Claimer): Promise<Claim[]> {
  // Concurrently, to pipeline the queries to PostgreSQL.
  const areFinished = await Promise.all(names.map((name) => isFinished(sql, name)))
  return Promise.all(
    names.map(async (name, index) => {
      if (areFinished[index]) return 'finished'
      if ((await sql.run(claimStatement, { ...name, slot, slots, epoch })) === 1) return 'mine'
      const owner = await sql.first(ownerStatement, name)
      if (owner === undefined || owner.slot === null) throw new Error('claimed a partition that is not claimable')
      return owner.slot === slot ? 'mine' : 'others'
    }),
  )
}

/** Marks a claimed partition as finished; false when it was not claimed. Call with the organization locked. */
export async function finishClaim(sql: Sql, name: PartitionName, now: string): Promise<boolean> {
  if ((await sql.run(removeClaimStatement, name)) === 0) return false
  await sql.run(rememberStatement, { ...finishedName(name), now })
  return true
}

export async function isFinished(sql: Sql, name: PartitionName): Promise<boolean> {
  return (await sql.first(finishedStatement, finishedName(name))) !== undefined
}

/** Deletes at most 1000; returns how many. */
export async function forgetFinishedPartitions(sql: Sql, { now }: { now: string }): Promise<number> {
  const before = new Date(Date.parse(now) - keptFinishedMs).toISOString()
  return sql.run(forgetStatement, { before, rows: 1000 })
}

function finishedName({ pipeId, partition }: PartitionName): FinishedName {
  return { pipeId, digest: hash('sha256', partition, 'hex') }
}
