// Deliveries on their way: recorded in the order in which they were made, inserted side by side, finished in order. Beyond those that are
// inserted, some may be made ready: recorded, and with all that their rows need in the engine, so that it need not wait for them.
import type { Positions, SourceReader } from '../sources/source.ts'
import { type ConcurrencyLimit, makeConcurrencyLimit } from './concurrency-limit.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { deliver } from './deliver-batch.ts'
import type { DeliveryRange, StoredPosition } from './delivery.ts'
import { makeLedger } from './ledger.ts'
import { type Rows, shapeDigest } from './rows.ts'
import { makeSendOrder } from './send-order.ts'
import type { Session } from './session.ts'

export interface Dispatch {
  lanes: ConcurrencyLimit
  /** Only when a lane is free. `newestMs`: when the newest of the records came into the source. */
  start(id: string, ranges: DeliveryRange[], rows: Rows | undefined, newestMs?: number): void
  /** What is under way when `work` ends, is awaited; what failed first is thrown. `stopped` when a delivery was given up. */
  run<Result>(work: () => Promise<Result>): Promise<Result | 'stopped'>
}

export interface DispatchParts {
  firstNumber: number
  /** Inserts under way at the same time. */
  inserts: number
  /** Deliveries that are made ready meanwhile. */
  ahead?: number
  reader: SourceReader
}

export function makeDispatch(session: Session, { firstNumber, inserts, ahead = 0, reader }: DispatchParts): Dispatch {
  const { store } = session
  const lanes = makeConcurrencyLimit(inserts + ahead, () => session.end())
  const turns = makeSendOrder(inserts)
  const acknowledge = makeAcknowledge(reader)
  let hasGivenUp = false
  const ledger = makeLedger({ store, firstNumber, moved: (positions) => acknowledge.later(positions) })

  return {
    lanes,
    start(id, ranges, rows, newestMs) {
      const sent = rows && rows.count > 0 ? rows : undefined
      const entry = ledger.add(sent && id, ranges, sent && shapeDigest(sent.shape))
      const begun = ledger.begin(entry)
      const turn = sent && turns.take()
      lanes.start(async () => {
        await begun
        const pending = sent && { id, rows: sent, isRepeat: false, mayBegin: turn?.begin }
        const figures = pending ? await deliver(session, pending) : zeroCounters
        // Not after a failure: it ends the session, and with it those that wait.
        turn?.end()
        if (!figures) {
          hasGivenUp = true
          return
        }
        await ledger.finish(entry, addCounters(figures, { retries: session.takeRetries() }))
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
        await lanes.settled()
        await acknowledge.settled()
        // Why a lane failed says more than that reading was broken off because of it.
        lanes.check()
      }
      return hasGivenUp ? 'stopped' : result
    },
  }
}

/** Tells the source how far it is durable. Whether that succeeds changes nothing: our own positions decide. */
function makeAcknowledge(reader: SourceReader): {
  later(positions: StoredPosition[]): void
  settled(): Promise<void>
} {
  let waiting: Positions = {}
  let telling: Promise<void> | undefined
  const tell = async (): Promise<void> => {
    while (Object.keys(waiting).length > 0) {
      const positions = waiting
      waiting = {}
      await reader.acknowledge(positions).catch(() => undefined)
    }
    telling = undefined
  }
  return {
    later(positions) {
      for (const { partition, position } of positions) waiting[partition] = position
      telling ??= tell()
    },
    settled: () => telling ?? Promise.resolve(),
  }
}
