// Inserts the rows of one recorded delivery. Rejected rows are recorded before the others are sent, so that a repeated delivery
// sends exactly the same rows.
import { EngineError, type Insert, type InsertOutcome } from '../engine/engine.ts'
import { meaningOfRows } from '../engine/error-meanings.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import type { Rows } from '../formats/encode/rows.ts'
import { countOf } from '../lib/count-text.ts'
import type { CounterChanges } from '../progress/pipe-counters.ts'
import { makeBackOff, pause } from './back-off.ts'
import { findRejected, keepRejected, recordOf, type TryOut } from './bad-rows.ts'
import { addCounters, zeroCounters } from './counters.ts'
import type { Session } from './session.ts'
import { findSkipped } from './skipped-rows.ts'
import { timeOf } from './status.ts'

export interface PendingDelivery {
  /** Also the deduplication token. */
  id: string
  rows: Rows
  /** Rows that are known to be rejected. */
  badRows?: RejectedRow[] | undefined
  isRepeat: boolean
  mayBegin?: Insert['mayBegin']
  identity?: Insert['identity']
}

/** With the same sink; after that, the whole session is started again. */
const attemptsInPlace = 4
/** Rows that are rejected only in combination cannot be found. */
const mostSearches = 4
/** Found rows are recorded in portions of at least this size, so that an interrupted search continues where it was. */
const leastRecorded = 200

export type DeliverySession = Pick<
  Session,
  'store' | 'sink' | 'signal' | 'stopping' | 'status' | 'settings' | 'times' | 'batchSize' | 'countRetry'
>

/** Resolves when the engine has stored all rows that it accepts; undefined when nothing was sent because the worker is stopping. */
export async function deliver(session: DeliverySession, pending: PendingDelivery): Promise<CounterChanges | undefined> {
  const { store, sink, signal, stopping, status, batchSize } = session
  const { id, rows } = pending
  const sending = { isRepeat: pending.isRepeat }
  const insertOf = (sent: Rows): Insert => ({
    ...sent.shape,
    token: id,
    body: () => sent.body(),
    isRepeat: sending.isRepeat,
    settings: session.settings,
    ...(pending.mayBegin && { mayBegin: pending.mayBegin }),
    ...(pending.identity && { identity: pending.identity }),
  })
  let rejected: RejectedRow[] = []
  const reject = async (found: readonly RejectedRow[]): Promise<void> => {
    rejected = recordOf(joinRejected(rejected, found))
    await store.reject(id, rejected)
    await keepRejected(sink, rows, { token: id, rejected: found }, signal)
  }

  /** Records rejected rows while it searches. Ends early when the worker is stopping. */
  const search = async (among: Rows): Promise<void> => {
    const tryOut: TryOut = async (part) => {
      stopping.throwIfAborted()
      return sink.tryOut(insertOf(part), stopping)
    }
    let found: RejectedRow[] = []
    const text = `Looking for the rows that the engine refuses among ${countOf(among.count, 'row')}`
    status.doing(text)
    const note = async (some: RejectedRow[]): Promise<void> => {
      found.push(...some)
      // Each write contains all rows found so far, so the portions grow.
      if (found.length < Math.max(leastRecorded, rejected.length / 4)) return
      await reject(found)
      found = []
      status.doing(`${text}; ${countOf(rejected.length, 'row')} found`)
    }
    try {
      const knownCount = rejected.length
      const options = { sink, tryOut, token: id, settings: session.settings, signal: stopping }
      const skipped = findSkipped(rows, rejected, options)
      let step = await skipped.next()
      for (; !step.done; step = await skipped.next()) await note(step.value)
      const hasFound = rejected.length + found.length > knownCount
      if (!(step.value && hasFound)) {
        for await (const some of findRejected(rows, joinRejected(rejected, found), tryOut)) await note(some)
      }
    } catch (error) {
      const isBrokenOff = error === stopping.reason || error instanceof EngineError
      if (!stopping.aborted || signal.aborted || !isBrokenOff) throw error
    }
    if (found.length > 0) await reject(found)
  }

  const known = joinRejected(pending.badRows ?? [], rows.undecodable)
  // Also those that are recorded: the worker may have died between recording and storing them.
  if (known.length > 0) await reject(known)
  for (let searches = 0; ; searches++) {
    const isLeft = rejected.length < rows.count
    const rest = rejected.length === 0 || !isLeft ? rows : rows.without(new Set(rejected.map(({ index }) => index)))
    if (isLeft) status.doing(`Inserting ${countOf(rest.count, rows.isDivisible ? 'row' : 'file')}`)
    const outcome = isLeft ? await insertOrRejection(session, () => insertOf(rest), sending) : nothingSent
    if (!(outcome instanceof EngineError)) {
      batchSize.note(rows.count, rejected.length)
      return countersOf(rows, rejected.length, outcome)
    }
    const knownCount = rejected.length
    if (searches < mostSearches) await search(rest)
    if (stopping.aborted) return undefined
    if (rejected.length === knownCount) throw rejectedOnlyTogether(outcome)
  }
}

const nothingSent = { rows: 0, sentBytes: 0 }

/** Retries temporary errors a few times with the same rows. Returns the error when the rows are rejected. */
async function insertOrRejection(
  session: DeliverySession,
  insertNow: () => Insert,
  sending: { isRepeat: boolean },
): Promise<InsertOutcome | EngineError> {
  const { sink, signal, stopping, status, times } = session
  const backOff = makeBackOff(times.backOff)
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await sink.insert(insertNow(), signal)
    } catch (error) {
      if (!(error instanceof EngineError) || signal.aborted) throw error
      if (error.kind === 'data') return error
      if (error.kind === 'user' || attempt >= attemptsInPlace || stopping.aborted) throw error
      sending.isRepeat = true
      const waitMs = backOff.nextMs()
      session.countRetry()
      status.degrade(error.message)
      status.doing(`Waiting ${timeOf(waitMs)} before the next attempt: ${error.message}`)
      await pause(waitMs, stopping)
      if (stopping.aborted) throw error
    }
  }
}

function joinRejected(known: readonly RejectedRow[], found: readonly RejectedRow[]): RejectedRow[] {
  const byIndex = new Map([...found, ...known].map((row) => [row.index, row]))
  return [...byIndex.values()].toSorted((one, other) => one.index - other.index)
}

function countersOf(rows: Rows, rowsRefused: number, { rows: stored, sentBytes }: InsertOutcome): CounterChanges {
  const rowsWritten = stored ?? rows.count - rowsRefused
  return addCounters(zeroCounters, {
    // Only the engine knows how many rows an indivisible file has.
    rowsRead: rows.isDivisible ? rows.count : Math.max(rowsWritten, rowsRefused),
    bytesRead: rows.readBytes,
    rowsWritten,
    bytesWritten: sentBytes,
    rowsRefused,
    inserts: sentBytes > 0 || rowsWritten > 0 ? 1 : 0,
  })
}

/** Does not pass on the raw error text of the engine: it can contain data. */
function rejectedOnlyTogether({ code }: EngineError): EngineError {
  const meaning = meaningOfRows(code)
  const reason = code > 0 ? `: it ${meaning ?? 'gives a reason of its own'} (its error ${code})` : ''
  return new EngineError(
    'user',
    `the engine refuses a batch of rows although its table would take every single one${reason}; ` +
      'check the materialized views and limits that depend on the table',
  )
}
