// The table of a pipe that loads objects. An object that is one piece is read while it is sent, so that an error of the object
// shows while it is inserted: it is tried a few times, and then rejected like an object that the engine does not take.
import { type BadRow, EngineError, type Insert, type Sink } from '../../engine/engine.ts'
import { begun } from '../../sources/object-storage/queued-objects.ts'
import { makeBackOff, pause } from '../back-off.ts'
import type { Damage } from '../damaged-objects.ts'
import { tokenOf } from '../delivery.ts'
import type { Session } from '../session.ts'
import { timeOf } from '../status.ts'
import { nameOf, notARow } from './given-up.ts'
import { findTrouble, mostTries } from './object-trouble.ts'

/** With `damage`, an object that cannot be read is rejected only when others could be; otherwise its error is thrown. */
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
    for (let tries = 1; ; tries++) {
      try {
        const outcome = await sink.insert(tries === 1 ? given : { ...given, isRepeat: true }, signal)
        if (given.format === 'Parquet' || given.format === 'Avro') damage?.noteRead()
        return outcome
      } catch (error) {
        const reason = findTrouble(error)
        if (reason === undefined || signal.aborted || !mayGiveUp()) throw error
        if (tries >= mostTries) throw new EngineError('data', giveUp(given, reason))
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
      const reason = findTrouble(error)
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

/** Of a pipe that follows a queue: a rejected row is known by its object and its position there, whatever it is sent with. */
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
  // Its number in a delivery changes when an object before it is gone.
  if (meta !== notARow) return { ...row, id: `${tokenOf(pipeId, [{ partition, from: begun, next: position }])}-row` }
  // What is no row has nothing of its own to be kept.
  return raw.length === 0 ? { ...row, raw: nameOf(partition) } : row
}
