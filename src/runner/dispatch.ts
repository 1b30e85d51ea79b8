// Runs deliveries concurrently: records them in order, inserts them in parallel, and finishes them in order. Beyond the concurrent
// inserts, some deliveries are prepared in advance: recorded, and with what their rows need in the engine already created.

import { type Rows, shapeDigest } from '../formats/encode/rows.ts'
import type { DeliveryRange, StoredPosition } from '../progress/delivery.ts'
import type { Positions, SourceReader } from '../sources/source.ts'
import { type ConcurrencyLimit, makeConcurrencyLimit } from './concurrency-limit.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { deliver } from './deliver-batch.ts'
import { makeLedger } from './ledger.ts'
import { makeSendOrder } from './send-order.ts'
import type { Session } from './session.ts'

export interface Dispatch {
  limit: ConcurrencyLimit
  /** Only when the limit allows it. `newestMs`: when the newest record was written to the source. */
  start(id: string, ranges: DeliveryRange[], rows: Rows | undefined, newestMs?: number): void
  /** Waits for running deliveries when `work` ends, and throws the first failure. `stopped` when a delivery was given up. */
  run<Result>(work: () => Promise<Result>): Promise<Result | 'stopped'>
}

export interface DispatchParts {
  firstNumber: number
  /** Number of concurrent inserts. */
  inserts: number
  /** Number of deliveries that are prepared in advance. */
  ahead?: number
  reader: SourceReader
}

export function makeDispatch(session: Session, { firstNumber, inserts, ahead = 0, reader }: DispatchParts): Dispatch {
  const { store } = session
  const limit = makeConcurrencyLimit(inserts + ahead, () => session.end())
  const sendOrder = makeSendOrder(inserts)
  const acknowledge = makeAcknowledge(reader)
  let hasGivenUp = false
  const ledger = makeLedger({ store, firstNumber, moved: (positions) => acknowledge.later(positions) })

  return {
    limit,
    start(id, ranges, rows, newestMs) {
      const sent = rows && rows.count > 0 ? rows : undefined
      const entry = ledger.add(sent && id, ranges, sent && shapeDigest(sent.shape))
      const begun = ledger.begin(entry)
      const permit = sent && sendOrder.take()
      limit.start(async () => {
        await begun
        const pending = sent && { id, rows: sent, isRepeat: false, mayBegin: permit?.begin }
        const counters = pending ? await deliver(session, pending) : zeroCounters
        // Not after a failure: it ends the session, and with it the deliveries that wait.
        permit?.end()
        if (!counters) {
          hasGivenUp = true
          return
        }
        await ledger.finish(entry, addCounters(counters, { retries: session.takeRetries() }))
        rows?.release?.()
        if (newestMs !== undefined) session.status.delivered(newestMs)
        session.well()
      })
    },
    async run<Result>(work: () => Promise<Result>) {
      let result: Result
      try {
        result = await work()
      } finally {
        await limit.settled()
        await acknowledge.settled()
        // The failure of a delivery is the cause; the interrupted read is its consequence.
        limit.check()
      }
      return hasGivenUp ? 'stopped' : result
    },
  }
}

/** Acknowledges durable positions to the source. Best effort: the stored positions decide where reading resumes. */
function makeAcknowledge(reader: SourceReader): {
  later(positions: StoredPosition[]): void
  settled(): Promise<void>
} {
  let waiting: Positions = {}
  let acknowledging: Promise<void> | undefined
  const acknowledge = async (): Promise<void> => {
    while (Object.keys(waiting).length > 0) {
      const positions = waiting
      waiting = {}
      await reader.acknowledge(positions).catch(() => undefined)
    }
    acknowledging = undefined
  }
  return {
    later(positions) {
      for (const { partition, position } of positions) waiting[partition] = position
      acknowledging ??= acknowledge()
    },
    settled: () => acknowledging ?? Promise.resolve(),
  }
}
