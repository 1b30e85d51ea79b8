// Progress of pipes: positions, deliveries, counters and errors. Workers write under the lock of the organization and only while they
// hold their lease. A claim takes the same lock, so of two processes that believe to hold a lease, one is rejected.

import { type Sql, statement } from '../database/sql.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import { lockOrganization } from '../organizations/store.ts'
import type { finishedPosition, LostRecords } from '../sources/source.ts'
import { claimAll, finishClaim, isFinished } from './claims/store.ts'
import type { Claim, DeliveryRange, NewDelivery, StoredDelivery, StoredPosition } from './delivery.ts'
import { addLosses, lossText } from './losses.ts'
import type { CounterChanges } from './pipe-counters.ts'
import { addRejections, replaceRejections } from './rejections/store.ts'
import { fromKept, storableText, toKept } from './texts.ts'

/** The right of one worker to work. Each claim of the same worker index has another epoch. */
export type WorkerLease = { organizationId: string; pipeId: string; workerIndex: number; epoch: number }

type LeaseValues = { pipeId: string; slot: number; epoch: number }

const leaseStatement = statement<LeaseValues, { slots: number; reason: string | null }>(
  'SELECT slots, reason FROM pipe_workers WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch',
)
const listPositionsStatement = statement<{ pipeId: string }, PositionRow>(
  `SELECT partition, position, within, offset_bytes, slot FROM pipe_positions WHERE pipe_id = :pipeId
   ORDER BY partition`,
)
const setPositionStatement = statement<{
  pipeId: string
  partition: string
  position: string
  within: string | null
  offsetBytes: number | null
  epoch: number
}>(
  // A claimed partition keeps its owner.
  `INSERT INTO pipe_positions (pipe_id, partition, position, within, offset_bytes, epoch)
   VALUES (:pipeId, :partition, :position, :within, :offsetBytes, :epoch)
   ON CONFLICT (pipe_id, partition) DO UPDATE SET position = excluded.position, within = excluded.within,
     offset_bytes = excluded.offset_bytes, epoch = excluded.epoch`,
)
const listDeliveriesStatement = statement<{ pipeId: string }, DeliveryRow>(
  `SELECT id, slot, slots, number, ranges, shape, bad_rows, is_done FROM pipe_deliveries WHERE pipe_id = :pipeId
   ORDER BY number, id`,
)
const beginStatement = statement<
  LeaseValues & { id: string; slots: number; number: number; ranges: string; shape: string | null }
>(
  // Repeated when it is unknown whether the first write was stored; the repetition has no effect.
  `INSERT INTO pipe_deliveries (pipe_id, id, slot, slots, epoch, number, ranges, shape)
   VALUES (:pipeId, :id, :slot, :slots, :epoch, :number, :ranges, :shape)
   ON CONFLICT (pipe_id, id) DO UPDATE SET slot = excluded.slot, slots = excluded.slots, epoch = excluded.epoch,
     number = excluded.number`,
)
const rejectStatement = statement<{ pipeId: string; id: string; badRows: string }>(
  'UPDATE pipe_deliveries SET bad_rows = :badRows WHERE pipe_id = :pipeId AND id = :id',
)
const markDoneStatement = statement<{ pipeId: string; id: string }>(
  'UPDATE pipe_deliveries SET is_done = 1 WHERE pipe_id = :pipeId AND id = :id AND is_done = 0',
)
const removeDeliveryStatement = statement<{ pipeId: string; id: string }>(
  'DELETE FROM pipe_deliveries WHERE pipe_id = :pipeId AND id = :id',
)
const addCountersStatement = statement<
  { pipeId: string; lastInsertAt: string | null } & { [Name in keyof CounterChanges]: number }
>(
  `INSERT INTO pipe_figures (pipe_id, rows_read, bytes_read, rows_written, bytes_written, rows_refused, rows_replayed,
     inserts, retries, last_insert_at)
   VALUES (:pipeId, :rowsRead, :bytesRead, :rowsWritten, :bytesWritten, :rowsRefused, :rowsReplayed,
     :inserts, :retries, :lastInsertAt)
   ON CONFLICT (pipe_id) DO UPDATE SET
     rows_read = pipe_figures.rows_read + excluded.rows_read,
     bytes_read = pipe_figures.bytes_read + excluded.bytes_read,
     rows_written = pipe_figures.rows_written + excluded.rows_written,
     bytes_written = pipe_figures.bytes_written + excluded.bytes_written,
     rows_refused = pipe_figures.rows_refused + excluded.rows_refused,
     rows_replayed = pipe_figures.rows_replayed + excluded.rows_replayed,
     inserts = pipe_figures.inserts + excluded.inserts,
     retries = pipe_figures.retries + excluded.retries,
     last_insert_at = COALESCE(excluded.last_insert_at, pipe_figures.last_insert_at)`,
)
const addThroughputStatement = statement<{
  pipeId: string
  minute: string
  rowsRead: number
  bytesRead: number
  rowsWritten: number
  rowsRefused: number
}>(
  `INSERT INTO pipe_throughput (pipe_id, minute, rows_read, bytes_read, rows_written, rows_refused)
   VALUES (:pipeId, :minute, :rowsRead, :bytesRead, :rowsWritten, :rowsRefused)
   ON CONFLICT (pipe_id, minute) DO UPDATE SET
     rows_read = pipe_throughput.rows_read + excluded.rows_read,
     bytes_read = pipe_throughput.bytes_read + excluded.bytes_read,
     rows_written = pipe_throughput.rows_written + excluded.rows_written,
     rows_refused = pipe_throughput.rows_refused + excluded.rows_refused`,
)
const setErrorStatement = statement<{ pipeId: string; reason: string; now: string }>(
  `INSERT INTO pipe_figures (pipe_id, last_error, last_error_at) VALUES (:pipeId, :reason, :now)
   ON CONFLICT (pipe_id) DO UPDATE SET last_error = excluded.last_error, last_error_at = excluded.last_error_at`,
)
const clearErrorStatement = statement<{ pipeId: string; reason: string }>(
  `UPDATE pipe_figures SET last_error = NULL, last_error_at = NULL WHERE pipe_id = :pipeId AND last_error = :reason
     AND NOT EXISTS (SELECT 1 FROM pipe_workers WHERE pipe_id = :pipeId AND reason = :reason)`,
)
const forgetErrorStatement = statement<{ pipeId: string }>(
  'UPDATE pipe_figures SET last_error = NULL, last_error_at = NULL, losses = NULL WHERE pipe_id = :pipeId',
)
const setReplayErrorStatement = statement<{ pipeId: string; reason: string | null }>(
  // A successful replay clears the error of an earlier one.
  `UPDATE pipe_figures SET replay_error = :reason,
     last_error = CASE WHEN last_error = replay_error THEN NULL ELSE last_error END,
     last_error_at = CASE WHEN last_error = replay_error THEN NULL ELSE last_error_at END
   WHERE pipe_id = :pipeId`,
)
const reportRecreatedStatement = statement<{ pipeId: string; reason: string; now: string }>(
  `UPDATE pipe_figures SET last_error = :reason, last_error_at = :now WHERE pipe_id = :pipeId AND rows_written > 0`,
)
const lossesStatement = statement<{ pipeId: string }, { losses: string | null }>(
  'SELECT losses FROM pipe_figures WHERE pipe_id = :pipeId',
)
const setLossesStatement = statement<{ pipeId: string; losses: string | null }>(
  `INSERT INTO pipe_figures (pipe_id, losses) VALUES (:pipeId, :losses)
   ON CONFLICT (pipe_id) DO UPDATE SET losses = excluded.losses`,
)
const setDeliveryStatement = statement<{ pipeId: string; delivery: string; reason: string | null }>(
  `INSERT INTO pipe_figures (pipe_id, delivery, delivery_reason) VALUES (:pipeId, :delivery, :reason)
   ON CONFLICT (pipe_id) DO UPDATE SET delivery = excluded.delivery, delivery_reason = excluded.delivery_reason`,
)
const setRetainedStatement = statement<{ pipeId: string; retainedBytes: number }>(
  `INSERT INTO pipe_figures (pipe_id, retained_bytes) VALUES (:pipeId, :retainedBytes)
   ON CONFLICT (pipe_id) DO UPDATE SET retained_bytes = excluded.retained_bytes`,
)
const keepDeliveredStatement = statement<{ pipeId: string }>(
  // Unless all workers report it and the pipe has a row, the last value stays.
  `UPDATE pipe_figures SET delivered_until = (SELECT min(delivered_until) FROM pipe_workers WHERE pipe_id = :pipeId)
   WHERE pipe_id = :pipeId
     AND NOT EXISTS (SELECT 1 FROM pipe_workers WHERE pipe_id = :pipeId AND delivered_until IS NULL)
     AND coalesce(pipe_figures.delivered_until, '') < (SELECT min(delivered_until) FROM pipe_workers WHERE pipe_id = :pipeId)`,
)
const forgetThroughputStatement = statement<{ before: string; rows: number }>(
  `DELETE FROM pipe_throughput WHERE (pipe_id, minute) IN
     (SELECT pipe_id, minute FROM pipe_throughput WHERE minute < :before LIMIT :rows)`,
)

interface PositionRow {
  partition: string
  position: string
  within: string | null
  offset_bytes: number | null
  slot: number | null
}

interface DeliveryRow {
  id: string
  slot: number
  slots: number
  number: number
  ranges: string
  shape: string | null
  bad_rows: string | null
  is_done: number
}

const finished: typeof finishedPosition = 'finished'
const keptThroughputMs = 25 * 3_600_000

/** Locks the organization until the transaction ends. Undefined when the lease is lost or the pipe was deleted. */
export async function lockLease(
  sql: Sql,
  lease: WorkerLease,
): Promise<{ slots: number; reason: string | null } | undefined> {
  await lockOrganization(sql, lease.organizationId)
  const { pipeId, workerIndex, epoch } = lease
  return sql.first(leaseStatement, { pipeId, slot: workerIndex, epoch })
}

/** Of all workers of the pipe, without finished partitions. */
export async function listPositions(sql: Sql, pipeId: string): Promise<StoredPosition[]> {
  return (await sql.all(listPositionsStatement, { pipeId })).map((row) => ({
    partition: fromKept(row.partition),
    position: fromKept(row.position),
    ...(row.slot === null ? {} : { workerIndex: row.slot }),
    ...(row.within === null ? {} : { within: fromKept(row.within) }),
    ...(row.offset_bytes === null ? {} : { offsetBytes: row.offset_bytes }),
  }))
}

export async function listDeliveries(sql: Sql, pipeId: string): Promise<StoredDelivery[]> {
  return (await sql.all(listDeliveriesStatement, { pipeId })).map((row) => ({
    id: row.id,
    workerIndex: row.slot,
    workerCount: row.slots,
    number: row.number,
    ranges: JSON.parse(row.ranges) as DeliveryRange[],
    ...(row.shape === null ? {} : { shape: row.shape }),
    ...(row.bad_rows === null ? {} : { badRows: JSON.parse(row.bad_rows) as RejectedRow[] }),
    isDone: row.is_done === 1,
  }))
}

/** The writes of a worker return false when it has lost its lease. */
export async function setPositions(
  sql: Sql,
  { lease, positions, now }: { lease: WorkerLease; positions: StoredPosition[]; now: string },
): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  await storePositions(sql, lease, positions, now)
  return true
}

export interface LossesToKeep {
  lease: WorkerLease
  positions: StoredPosition[]
  losses: LostRecords[]
  now: string
}

export async function keepLosses(sql: Sql, { lease, positions, losses, now }: LossesToKeep): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  const { pipeId } = lease
  await storePositions(sql, lease, positions, now)
  const last = losses.at(-1)
  if (!last) return true
  const kept = await sql.first(lossesStatement, { pipeId })
  await sql.run(setLossesStatement, { pipeId, losses: addLosses(kept?.losses ?? null, losses) })
  await setLastError(sql, { pipeId, reason: lossText(last), now })
  return true
}

/** Clears the last error and the losses, on a start or resync by the user. Call with the organization locked. */
export async function forgetErrors(sql: Sql, pipeId: string): Promise<void> {
  await sql.run(forgetErrorStatement, { pipeId })
}

/** One claim per partition, in their order. Undefined when the lease is lost. */
export async function claimPositions(
  sql: Sql,
  { lease, partitions }: { lease: WorkerLease; partitions: string[] },
): Promise<Claim[] | undefined> {
  const held = await lockLease(sql, lease)
  if (!held) return undefined
  const { pipeId, workerIndex, epoch } = lease
  const names = partitions.map((partition) => ({ pipeId, partition: toKept(partition) }))
  return claimAll(sql, names, { slot: workerIndex, slots: held.slots, epoch })
}

export interface DeliveryToBegin {
  lease: WorkerLease
  delivery: NewDelivery
}

export async function beginDelivery(sql: Sql, { lease, delivery }: DeliveryToBegin): Promise<boolean> {
  const held = await lockLease(sql, lease)
  if (!held) return false
  const { pipeId, workerIndex, epoch } = lease
  const { id, number, ranges, shape = null } = delivery
  await sql.run(beginStatement, {
    pipeId,
    id,
    slot: workerIndex,
    slots: held.slots,
    epoch,
    number,
    ranges: JSON.stringify(ranges),
    shape,
  })
  return true
}

export interface DeliveryToReject {
  lease: WorkerLease
  deliveryId: string
  badRows: RejectedRow[]
}

export async function rejectRows(sql: Sql, { lease, deliveryId, badRows }: DeliveryToReject): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  await sql.run(rejectStatement, { pipeId: lease.pipeId, id: deliveryId, badRows: JSON.stringify(badRows) })
  return true
}

export interface DeliveriesToFinish {
  lease: WorkerLease
  done: string[]
  behind: string[]
  positions: StoredPosition[]
  counters: CounterChanges
  now: string
}

export async function finishDeliveries(sql: Sql, change: DeliveriesToFinish): Promise<boolean> {
  const { lease, done, behind, positions, counters, now } = change
  if (!(await lockLease(sql, lease))) return false
  const { pipeId } = lease
  let changed = 0
  for (const id of done) changed += await sql.run(markDoneStatement, { pipeId, id })
  for (const id of behind) changed += await sql.run(removeDeliveryStatement, { pipeId, id })
  await storePositions(sql, lease, positions, now)
  // A repeated write, after an unknown outcome, does not count twice.
  if (changed > 0 || done.length + behind.length === 0) await addCounters(sql, pipeId, counters, now)
  return true
}

async function storePositions(sql: Sql, lease: WorkerLease, positions: StoredPosition[], now: string): Promise<void> {
  const { pipeId, epoch } = lease
  for (const { partition, position, within, offsetBytes = null } of positions) {
    const name = { pipeId, partition: toKept(partition) }
    if (position === finished && (await finishClaim(sql, name, now))) continue
    // A repeated write, after an unknown outcome: a finished partition stays finished.
    if ((position === finished || within !== undefined) && (await isFinished(sql, name))) continue
    await sql.run(setPositionStatement, {
      ...name,
      position: toKept(position),
      within: within === undefined ? null : toKept(within),
      offsetBytes,
      epoch,
    })
  }
}

/** Call with the organization locked. */
export async function addCounters(sql: Sql, pipeId: string, counters: CounterChanges, now: string): Promise<void> {
  const { rowsRead, bytesRead, rowsWritten, rowsRefused, inserts } = counters
  await sql.run(addCountersStatement, { pipeId, ...counters, lastInsertAt: inserts > 0 ? now : null })
  if (rowsRefused > 0) await addRejections(sql, pipeId, rowsRefused, now)
  if (rowsRead + bytesRead + rowsWritten + rowsRefused === 0) return
  const minute = `${now.slice(0, 16)}:00.000Z`
  await sql.run(addThroughputStatement, { pipeId, minute, rowsRead, bytesRead, rowsWritten, rowsRefused })
}

/** Rejected rows left in the engine after a replay, by UTC day of their rejection. */
export async function setRejections(
  sql: Sql,
  { lease, countByDay }: { lease: WorkerLease; countByDay: Record<string, number> },
): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  await replaceRejections(sql, lease.pipeId, countByDay)
  return true
}

/** Call with the organization locked. */
export async function setLastError(sql: Sql, error: { pipeId: string; reason: string; now: string }): Promise<void> {
  await sql.run(setErrorStatement, { ...error, reason: storableText(error.reason) })
}

/**
 * Clears the error with this reason, unless another worker still has the reason or a newer error was stored.
 * Call with the organization locked.
 */
export async function clearLastError(sql: Sql, error: { pipeId: string; reason: string }): Promise<void> {
  await sql.run(clearErrorStatement, error)
}

/** `reason` is null when the replay succeeded. Call with the organization locked. */
export async function setReplayError(
  sql: Sql,
  { pipeId, reason, now }: { pipeId: string; reason: string | null; now: string },
): Promise<void> {
  await sql.run(setReplayErrorStatement, { pipeId, reason: reason === null ? null : storableText(reason) })
  if (reason !== null) await setLastError(sql, { pipeId, reason, now })
}

/** Stores an error if the table was created although rows were written before; true in that case. */
export async function reportRecreatedTable(
  sql: Sql,
  { lease, reason, now }: { lease: WorkerLease; reason: string; now: string },
): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  return (await sql.run(reportRecreatedStatement, { pipeId: lease.pipeId, reason: storableText(reason), now })) > 0
}

/** Call with the organization locked. */
export async function setDelivery(
  sql: Sql,
  delivery: { pipeId: string; delivery: string; reason: string | null },
): Promise<void> {
  const { reason } = delivery
  await sql.run(setDeliveryStatement, { ...delivery, reason: reason === null ? null : storableText(reason) })
}

/** Call with the organization locked. */
export async function setRetained(sql: Sql, retained: { pipeId: string; retainedBytes: number }): Promise<void> {
  await sql.run(setRetainedStatement, retained)
}

/** Sets the pipe's `delivered_until` to the earliest of its workers. */
export async function keepDelivered(sql: Sql, pipeId: string): Promise<void> {
  await sql.run(keepDeliveredStatement, { pipeId })
}

/** Deletes at most 1000 minutes that are no longer shown; returns how many. */
export async function forgetOldThroughput(sql: Sql, { now }: { now: string }): Promise<number> {
  const before = new Date(Date.parse(now) - keptThroughputMs).toISOString()
  return sql.run(forgetThroughputStatement, { before, rows: 1000 })
}
