// Messages that lead nowhere and objects that cannot be loaded, kept where refused rows are kept. They are not rows: no replay ever
// sends them to the table.

import type { BadRow } from '../../engine/engine.ts'
import { keyOf } from '../../sources/object-storage/object-assignment.ts'
import { begun, versionOf } from '../../sources/object-storage/queued-objects.ts'
import { finishedPosition } from '../../sources/source.ts'
import { addCounters, zeroCounters } from '../counters.ts'
import { type DeliveryRange, tokenOf } from '../delivery.ts'
import type { Rows } from '../rows.ts'
import type { Session } from '../session.ts'
import type { CounterChanges } from '../worker.ts'

/** In place of what is needed to encode a row again. */
export const notARow = 'penstock:not-a-row'

export interface GivenUp extends Pick<BadRow, 'partition' | 'position' | 'raw' | 'reason'> {
  /** Default: all of the partition. */
  range?: DeliveryRange
}

/** All of it. */
function rangeOf(partition: string): DeliveryRange {
  return { partition, from: begun, next: finishedPosition }
}

export function objectGivenUp(partition: string, trouble: string, whatIsThere: string): GivenUp {
  const position = `the object ${versionOf(partition)?.key}`
  return { partition, position, raw: nameOf(partition), reason: `${trouble}; ${whatIsThere}` }
}

/** An object that cannot be read, as rows: one, which is rejected. */
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

/** Which object it is, in place of its bytes. */
export function nameOf(partition: string): Uint8Array {
  const { key, etag } = versionOf(partition) ?? {}
  return Buffer.from(JSON.stringify({ key, etag }))
}

/** The same ones again change nothing. */
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

/** Only when nothing of them is under way. */
export async function finishGivenUp(
  session: Pick<Session, 'sink' | 'signal' | 'parts' | 'store' | 'takeRetries'>,
  givenUp: GivenUp[],
): Promise<void> {
  const figures = addCounters(await keepGivenUp(session, givenUp), { retries: session.takeRetries() })
  const positions = givenUp.map(({ partition }) => ({ partition, position: finishedPosition }))
  await session.store.finish({ done: [], behind: [], positions, figures })
}
