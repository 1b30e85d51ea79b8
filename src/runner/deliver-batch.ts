// Takes the rows of one delivery, which is recorded, to the engine. Rows that the engine refuses are recorded before any of the
// others are sent: whoever repeats the delivery then sends the same rows.
import { EngineError, type Insert, type InsertOutcome } from '../engine/engine.ts'
import { meaningOfRows } from '../engine/error-meanings.ts'
import { countOf } from '../lib/count-text.ts'
import { makeBackOff, pause } from './back-off.ts'
import { findRefused, keepRefused, recordOf, type TryOut } from './bad-rows.ts'
import { addCounters, zeroCounters } from './counters.ts'
import type { RefusedRow } from './delivery.ts'
import type { Rows } from './rows.ts'
import type { Session } from './session.ts'
import { findSkipped } from './skipped-rows.ts'
import { timeOf } from './status.ts'
import type { CounterChanges } from './worker.ts'

export interface Pending {
  /** Also its token. */
  id: string
  rows: Rows
  /** What is known of it already. */
  badRows?: RefusedRow[] | undefined
  isRepeat: boolean
  mayBegin?: Insert['mayBegin']
  identity?: Insert['identity']
}

/** With the same sink; after that, everything is begun anew. */
const attemptsInPlace = 4
/** Rows that are refused only together cannot be told apart. */
const mostSearches = 4
/** Found rows are recorded in portions of at least so many, so that a search that is broken off is not begun anew. */
const leastRecorded = 200

export type Delivering = Pick<
  Session,
  'store' | 'sink' | 'signal' | 'stopping' | 'status' | 'settings' | 'times' | 'batchSize' | 'countRetry'
>

/** Resolves when the engine has all that it takes of it; undefined when it was given up, unsent, because the worker is to stop. */
export async function deliver(session: Delivering, pending: Pending): Promise<CounterChanges | undefined> {
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
  let refused: RefusedRow[] = []
  const refuse = async (found: readonly RefusedRow[]): Promise<void> => {
    refused = recordOf(joinRefused(refused, found))
    await store.refuse(id, refused)
    await keepRefused(sink, rows, { token: id, refused: found }, signal)
  }

  /** What is found is refused as the search goes on. Ends early when the worker is to stop. */
  const search = async (among: Rows): Promise<void> => {
    const tryOut: TryOut = async (part) => {
      stopping.throwIfAborted()
      return sink.tryOut(insertOf(part), stopping)
    }
    let found: RefusedRow[] = []
    const told = `Looking for the rows that the engine refuses among ${countOf(among.count, 'row')}`
    status.doing(told)
    const note = async (some: RefusedRow[]): Promise<void> => {
      found.push(...some)
      // Everything is recorded each time, so the portions grow.
      if (found.length < Math.max(leastRecorded, refused.length / 4)) return
      await refuse(found)
      found = []
      status.doing(`${told}; ${countOf(refused.length, 'row')} found`)
    }
    try {
      const knownCount = refused.length
      const options = { sink, tryOut, token: id, settings: session.settings, signal: stopping }
      const skipped = findSkipped(rows, refused, options)
      let step = await skipped.next()
      for (; !step.done; step = await skipped.next()) await note(step.value)
      const hasFound = refused.length + found.length > knownCount
      if (!(step.value && hasFound)) {
        for await (const some of findRefused(rows, joinRefused(refused, found), tryOut)) await note(some)
      }
    } catch (error) {
      const isBrokenOff = error === stopping.reason || error instanceof EngineError
      if (!stopping.aborted || signal.aborted || !isBrokenOff) throw error
    }
    if (found.length > 0) await refuse(found)
  }

  const known = joinRefused(pending.badRows ?? [], rows.undecodable)
  // Also those that are recorded: whoever recorded them may not have come to keep them.
  if (known.length > 0) await refuse(known)
  for (let searches = 0; ; searches++) {
    const isLeft = refused.length < rows.count
    const rest = refused.length === 0 || !isLeft ? rows : rows.without(new Set(refused.map(({ index }) => index)))
    if (isLeft) status.doing(`Inserting ${countOf(rest.count, rows.isDivisible ? 'row' : 'file')}`)
    const outcome = isLeft ? await insertOrRefused(session, () => insertOf(rest), sending) : nothingSent
    if (!(outcome instanceof EngineError)) {
      batchSize.note(rows.count, refused.length)
      return figuresOf(rows, refused.length, outcome)
    }
    const knownCount = refused.length
    if (searches < mostSearches) await search(rest)
    if (stopping.aborted) return undefined
    if (refused.length === knownCount) throw refusedOnlyTogether(outcome)
  }
}

const nothingSent = { rows: 0, sentBytes: 0 }

/** What passes is tried again a few times, with the rows that are there. Gives the error when it is the rows that are refused. */
async function insertOrRefused(
  session: Delivering,
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

function joinRefused(known: readonly RefusedRow[], found: readonly RefusedRow[]): RefusedRow[] {
  const byIndex = new Map([...found, ...known].map((row) => [row.index, row]))
  return [...byIndex.values()].toSorted((one, other) => one.index - other.index)
}

function figuresOf(rows: Rows, rowsRefused: number, { rows: stored, sentBytes }: InsertOutcome): CounterChanges {
  const rowsWritten = stored ?? rows.count - rowsRefused
  return addCounters(zeroCounters, {
    // How many rows there are in what cannot be divided, the engine alone knows.
    rowsRead: rows.isDivisible ? rows.count : Math.max(rowsWritten, rowsRefused),
    bytesRead: rows.readBytes,
    rowsWritten,
    bytesWritten: sentBytes,
    rowsRefused,
    inserts: sentBytes > 0 || rowsWritten > 0 ? 1 : 0,
  })
}

/** The engine's own words stay in the engine. */
function refusedOnlyTogether({ code }: EngineError): EngineError {
  const meaning = meaningOfRows(code)
  const reason = code > 0 ? `: it ${meaning ?? 'gives a reason of its own'} (its error ${code})` : ''
  return new EngineError(
    'user',
    `the engine refuses a batch of rows although its table would take every single one${reason}; ` +
      'check the materialized views and limits that depend on the table',
  )
}
