// Sink of an object storage pipe. An object that cannot be divided is read while it is inserted, so its read errors appear during the
// insert. The insert is tried a few times, then the object is rejected.
import { type BadRow, EngineError, type Insert, type Sink } from '../../engine/engine.ts'
import { begun } from '../../sources/object-storage/queued-objects.ts'
import { makeBackOff, pause } from '../back-off.ts'
import type { Damage } from '../damaged-objects.ts'
import { tokenOf } from '../delivery-token.ts'
import type { Session } from '../session.ts'
import { timeOf } from '../status.ts'
import { nameOf, notARow } from './given-up.ts'
import { findObjectFailure, maxObjectAttempts } from './object-failure.ts'

/** With `damage`, an unreadable object is rejected only when other objects were read; otherwise its error is thrown. */
export function makeRetryingSink(
  { sink, stopping, status, times, countRetry }: Session,
  damage?: Pick<Damage, 'noteRead' | 'mayGiveUp' | 'add'>,
): Sink {
  const mayGiveUp = (): boolean => damage?.mayGiveUp() ?? true
  /** By token. */
  const troubles = new Map<string, string>()

  const giveUp = ({ token, isRepeat }: Insert, trouble: string): string => {
    const reason = `${trouble}; ${isRepeat ? 'it may be in the table' : 'nothing of it is in the table'}`
    troubles.set(token, reason)
    damage?.add(reason)
    return reason
  }

  const insert: Sink['insert'] = async (given, signal) => {
    const backOff = makeBackOff(times.backOff)
    for (let attempts = 1; ; attempts++) {
      try {
        const outcome = await sink.insert(attempts === 1 ? given : { ...given, isRepeat: true }, signal)
        if (given.format === 'Parquet' || given.format === 'Avro') damage?.noteRead()
        return outcome
      } catch (error) {
        const reason = findObjectFailure(error)
        if (reason === undefined || signal.aborted || !mayGiveUp()) throw error
        if (attempts >= maxObjectAttempts) throw new EngineError('data', giveUp(given, reason))
        const waitMs = backOff.nextMs()
        countRetry()
        status.doing(`Waiting ${timeOf(waitMs)} before the next attempt: ${reason}`)
        await pause(waitMs, stopping)
        if (stopping.aborted) throw new EngineError('passing', reason)
      }
    }
  }

  const tryOut: Sink['tryOut'] = async (given, signal) => {
    const known = troubles.get(given.token)
    if (known !== undefined) return known
    try {
      return await sink.tryOut(given, signal)
    } catch (error) {
      const reason = findObjectFailure(error)
      if (reason === undefined || signal.aborted || !mayGiveUp()) throw error
      return giveUp(given, reason)
    }
  }

  return {
    get delivery() {
      return sink.delivery
    },
    insert,
    tryOut,
    openReadCheck: (rows, numberField, signal) => sink.openReadCheck(rows, numberField, signal),
    keepBadRows: (rows, signal) => sink.keepBadRows(rows, signal),
    close: () => sink.close(),
  }
}

/** For a queue pipe: the id of a rejected row is its object and its position there, whichever delivery it is part of. */
export function nameByObject(sink: Sink, { parts }: Session): Sink {
  return {
    get delivery() {
      return sink.delivery
    },
    insert: (insert, signal) => sink.insert(insert, signal),
    tryOut: (insert, signal) => sink.tryOut(insert, signal),
    openReadCheck: (rows, numberField, signal) => sink.openReadCheck(rows, numberField, signal),
    keepBadRows: (rows, signal) =>
      sink.keepBadRows(
        rows.map((row) => named(row, parts.pipe.id)),
        signal,
      ),
    close: () => sink.close(),
  }
}

function named(row: BadRow, pipeId: string): BadRow {
  const { partition, position, meta, raw } = row
  // The number of a row in a delivery changes when an earlier object is missing.
  if (meta !== notARow) return { ...row, id: `${tokenOf(pipeId, [{ partition, from: begun, next: position }])}-row` }
  // An object that is not a row is stored by its name.
  return raw.length === 0 ? { ...row, raw: nameOf(partition) } : row
}
