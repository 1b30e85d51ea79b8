// Tells the queue of what is finished, and of nothing else, one telling after the other. What could not be told is told with the
// next: until then the queue may only tell of it again.
import { finishedPosition, type Positions, type SourceReader } from '../../sources/source.ts'

export interface Acknowledgements {
  tell(positions: Positions): Promise<void>
  settled(): Promise<void>
}

export function makeAcknowledgements(reader: SourceReader, finished: (partition: string) => void): Acknowledgements {
  let untold: Positions = {}
  let last: Promise<void> = Promise.resolve()
  const tellAll = async (): Promise<void> => {
    const told = untold
    untold = {}
    if (Object.keys(told).length === 0) return
    await reader.acknowledge(told).catch(() => {
      untold = { ...told, ...untold }
    })
  }
  return {
    tell(positions) {
      for (const [partition, position] of Object.entries(positions)) {
        if (position !== finishedPosition) continue
        untold[partition] = position
        finished(partition)
      }
      last = last.then(tellAll)
      return last
    },
    settled: () => last,
  }
}
