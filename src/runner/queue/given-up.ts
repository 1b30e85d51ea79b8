// Records messages without an object and objects that cannot be loaded among the rejected rows. They are not rows: a replay never
// sends them to the table.

import type { BadRow } from '../../engine/engine.ts'
import type { Rows } from '../../formats/encode/rows.ts'
import type { DeliveryRange } from '../../progress/delivery.ts'
import type { CounterChanges } from '../../progress/pipe-counters.ts'
import { keyOf } from '../../sources/object-storage/object-assignment.ts'
import { begun, versionOf } from '../../sources/object-storage/queued-objects.ts'
import { finishedPosition } from '../../sources/source.ts'
import { addCounters, zeroCounters } from '../counters.ts'
import { tokenOf } from '../delivery-token.ts'
import type { Session } from '../session.ts'

/** Stored in place of the data that encodes a row again. */
export const notARow = 'penstock:not-a-row'

export interface GivenUp extends Pick<BadRow, 'partition' | 'position' | 'raw' | 'reason'> {
  /** Default: the whole partition. */
  range?: DeliveryRange
}

/** The whole partition. */
function rangeOf(partition: string): DeliveryRange {
  return { partition, from: begun, next: finishedPosition }
}

export function objectGivenUp(partition: string, trouble: string, whatIsThere: string): GivenUp {
  const position = `the object ${versionOf(partition)?.key}`
  return { partition, position, raw: nameOf(partition), reason: `${trouble}; ${whatIsThere}` }
}

/** An unreadable object as one rejected row. */
export function unreadableRows({ partition, next }: DeliveryRange, reason: string): Rows {
  const rows: Rows = {
    shape: { format: 'JSONEachRow', fields: [], columns: [] },
    count: 1,
    readBytes: 0,
    undecodable: [{ index: 0, reason }],
    isDivisible: false,
    body: () => [],
    only: () => rows,
    without: () => rows,
    keep: () => ({ partition, position: `the object ${keyOf(next)}`, raw: new Uint8Array(), meta: notARow }),
  }
  return rows
}

/** Key and ETag of an object, stored in place of its bytes. */
export function nameOf(partition: string): Uint8Array {
  const { key, etag } = versionOf(partition) ?? {}
  return Buffer.from(JSON.stringify({ key, etag }))
}

/** Idempotent. */
export async function keepGivenUp(
  { sink, signal, parts }: Pick<Session, 'sink' | 'signal' | 'parts'>,
  givenUp: GivenUp[],
): Promise<CounterChanges> {
  const at = new Date().toISOString()
  const rows = givenUp.map((one): BadRow => {
    const { range = rangeOf(one.partition), ...kept } = one
    return { ...kept, id: `${tokenOf(parts.pipe.id, [range])}-0`, meta: notARow, at }
  })
  if (rows.length > 0) await sink.keepBadRows(rows, signal)
  return addCounters(zeroCounters, { rowsRead: rows.length, rowsRefused: rows.length })
}

/** Only when no insert of these objects is in flight. */
export async function finishGivenUp(
  session: Pick<Session, 'sink' | 'signal' | 'parts' | 'store' | 'takeRetries'>,
  givenUp: GivenUp[],
): Promise<void> {
  const counters = addCounters(await keepGivenUp(session, givenUp), { retries: session.takeRetries() })
  const positions = givenUp.map(({ partition }) => ({ partition, position: finishedPosition }))
  await session.store.finish({ done: [], behind: [], positions, counters })
}
