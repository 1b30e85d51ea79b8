// Acknowledges finished objects to the queue, one call at a time. A failed acknowledgement is repeated with the next one; until then
// the queue may deliver the message again.
import { finishedPosition, type Positions, type SourceReader } from '../../sources/source.ts'

export interface Acknowledgements {
  acknowledge(positions: Positions): Promise<void>
  settled(): Promise<void>
}

export function makeAcknowledgements(reader: SourceReader, finished: (partition: string) => void): Acknowledgements {
  let pending: Positions = {}
  let last: Promise<void> = Promise.resolve()
  const acknowledgeAll = async (): Promise<void> => {
    const sent = pending
    pending = {}
    if (Object.keys(sent).length === 0) return
    await reader.acknowledge(sent).catch(() => {
      pending = { ...sent, ...pending }
    })
  }
  return {
    acknowledge(positions) {
      for (const [partition, position] of Object.entries(positions)) {
        if (position !== finishedPosition) continue
        pending[partition] = position
        finished(partition)
      }
      last = last.then(acknowledgeAll)
      return last
    },
    settled: () => last,
  }
}
