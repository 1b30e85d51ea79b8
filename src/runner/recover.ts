// What others, or this worker before a failure, may have sent and not finished: it is built again from exactly the same ranges
// and sent again with the same token, before anything new is read.
import type { Insert } from '../engine/engine.ts'
import { pause } from './back-off.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { deliver } from './deliver-batch.ts'
import type { RefusedRow, StoredDelivery, StoredPosition } from './delivery.ts'
import { positionsAfter } from './ledger.ts'
import { type Rows, shapeDigest } from './rows.ts'
import type { Session } from './session.ts'
import type { CounterChanges } from './worker.ts'

/** In place of a partition: rows that were refused and are tried again. Such deliveries are finished by the next replay. */
export const replayPartition = 'penstock:replay'

export interface Left {
  /** Of the whole pipe. */
  positions: StoredPosition[]
  nextNumber: number
}

/** Whether the delivery is for others to finish, and to wait for. */
function isForeign({ slots }: StoredDelivery, session: Session): boolean {
  return slots !== session.parts.slots
}

function isMine(delivery: StoredDelivery, session: Session): boolean {
  const { slot } = session.parts
  // What was made by another number of workers belongs to nobody of now: the first one takes it.
  return isForeign(delivery, session) ? slot === 0 : delivery.slot === slot
}

/** `badRows`: what is known of these rows, where that is not all that is known of the delivery. */
type Use = (rows: Rows, badRows?: RefusedRow[]) => Promise<CounterChanges | undefined>

/** Reads the rows of a delivery again and gives them to `use`, while what they are read from is still open. */
export type Rebuild = (delivery: StoredDelivery, use: Use) => ReturnType<Use>

/** Resolves when nothing is left of before: the positions that it gives are where to go on. Undefined when the worker is to stop first. */
export async function recover(
  session: Session,
  rebuild: Rebuild,
  /** What else must be done before; gives whether others have yet to do so. */
  finishRest: (positions: StoredPosition[]) => Promise<'done' | 'again' | 'wait'>,
): Promise<Left | undefined> {
  const { store, status, stopping, times } = session
  for (;;) {
    const all = await store.listDeliveries()
    const deliveries = all.filter(({ ranges }) => ranges[0]?.partition !== replayPartition)
    const mine = deliveries.filter((delivery) => isMine(delivery, session))
    for (const delivery of mine) {
      if (stopping.aborted) return undefined
      await deliverAgain(session, delivery, rebuild)
    }
    if (stopping.aborted) return undefined
    const isOthersTurn = deliveries.some((delivery) => isForeign(delivery, session) && !mine.includes(delivery))
    const positions = await store.listPositions()
    const rest = isOthersTurn ? 'wait' : await finishRest(positions)
    if (stopping.aborted) return undefined
    if (rest === 'done') {
      const nextNumber = 1 + Math.max(0, ...deliveries.map(({ number }) => number))
      return { positions, nextNumber }
    }
    if (rest === 'again') continue
    status.doing('Waiting until what an earlier number of replicas had begun is finished')
    await pause(times.lookAgainMs, stopping)
    if (stopping.aborted) return undefined
  }
}

/** What was made of the same records by another configuration cannot be compared with what is made of them now. */
export function identityOf({ shape }: Pick<StoredDelivery, 'shape'>, rows: Rows): Insert['identity'] {
  return shape === shapeDigest(rows.shape) ? undefined : 'none'
}

async function deliverAgain(session: Session, delivery: StoredDelivery, rebuild: Rebuild): Promise<void> {
  const { store, status } = session
  const { id, ranges, badRows, isDone } = delivery
  let figures: CounterChanges | undefined = zeroCounters
  if (!isDone) {
    status.doing('Sending again what was on its way before')
    figures = await rebuild(delivery, async (rows, known = badRows) =>
      rows.count === 0
        ? zeroCounters
        : deliver(session, { id, rows, badRows: known, isRepeat: true, identity: identityOf(delivery, rows) }),
    )
  }
  // It was given up because the worker is to stop, and stays recorded.
  if (!figures) return
  figures = addCounters(figures, { retries: session.takeRetries() })
  await store.finish({ done: [], behind: [id], positions: positionsAfter(ranges), figures })
  if (!isDone) session.well()
}
