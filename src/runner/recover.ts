// Recovers unfinished deliveries of earlier workers: rebuilds each from exactly the same ranges and sends it with the same token,
// before anything new is read.
import type { Insert } from '../engine/engine.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import { type Rows, shapeDigest } from '../formats/encode/rows.ts'
import type { StoredDelivery, StoredPosition } from '../progress/delivery.ts'
import type { CounterChanges } from '../progress/pipe-counters.ts'
import { pause } from './back-off.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { deliver } from './deliver-batch.ts'
import { positionsAfter } from './ledger.ts'
import type { Session } from './session.ts'

/** Stands for the partition in deliveries of replayed rows. They are finished by the next replay. */
export const replayPartition = 'penstock:replay'

export interface Recovered {
  /** Of the whole pipe. */
  positions: StoredPosition[]
  nextNumber: number
}

/** Whether the delivery was recorded under another worker count. */
function isForeign({ workerCount }: StoredDelivery, session: Session): boolean {
  return workerCount !== session.parts.workerCount
}

function isMine(delivery: StoredDelivery, session: Session): boolean {
  const { workerIndex } = session.parts
  // A delivery of another worker count is taken over by the first worker.
  return isForeign(delivery, session) ? workerIndex === 0 : delivery.workerIndex === workerIndex
}

/** `badRows`: known rejected rows, when they differ from those of the delivery. */
type Use = (rows: Rows, badRows?: RejectedRow[]) => Promise<CounterChanges | undefined>

/** Rebuilds the rows of a delivery and passes them to `use` while their source is still open. */
export type Rebuild = (delivery: StoredDelivery, use: Use) => ReturnType<Use>

/** Resolves with the positions to continue from when nothing is left to recover. Undefined when the worker is stopped first. */
export async function recover(
  session: Session,
  rebuild: Rebuild,
  /** Recovery beyond deliveries. `wait`: another worker has to finish its part first. */
  finishRest: (positions: StoredPosition[]) => Promise<'done' | 'again' | 'wait'>,
): Promise<Recovered | undefined> {
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
    const isForOthers = deliveries.some((delivery) => isForeign(delivery, session) && !mine.includes(delivery))
    const positions = await store.listPositions()
    const rest = isForOthers ? 'wait' : await finishRest(positions)
    if (stopping.aborted) return undefined
    if (rest === 'done') {
      const nextNumber = 1 + Math.max(0, ...deliveries.map(({ number }) => number))
      return { positions, nextNumber }
    }
    if (rest === 'again') continue
    status.doing('Waiting until deliveries of the earlier replica count are finished')
    await pause(times.lookAgainMs, stopping)
    if (stopping.aborted) return undefined
  }
}

/** Rows that another configuration made of the same records cannot be compared with the present ones. */
export function identityOf({ shape }: Pick<StoredDelivery, 'shape'>, rows: Rows): Insert['identity'] {
  return shape === shapeDigest(rows.shape) ? undefined : 'none'
}

async function deliverAgain(session: Session, delivery: StoredDelivery, rebuild: Rebuild): Promise<void> {
  const { store, status } = session
  const { id, ranges, badRows, isDone } = delivery
  let counters: CounterChanges | undefined = zeroCounters
  if (!isDone) {
    status.doing('Sending unfinished deliveries again')
    counters = await rebuild(delivery, async (rows, known = badRows) =>
      rows.count === 0
        ? zeroCounters
        : deliver(session, { id, rows, badRows: known, isRepeat: true, identity: identityOf(delivery, rows) }),
    )
  }
  // The worker is stopping: the delivery stays recorded.
  if (!counters) return
  counters = addCounters(counters, { retries: session.takeRetries() })
  await store.finish({ done: [], behind: [id], positions: positionsAfter(ranges), counters })
  if (!isDone) session.well()
}
