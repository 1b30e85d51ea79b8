// Sources of lines: a stream with partitions, and an object storage. They end when everything is read.
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { NotConnected } from '../../src/source-shapes/source-failure.ts'
import { assignmentOf, partitionOf } from '../../src/sources/object-storage/object-assignment.ts'
import {
  type Batch,
  EndOfInput,
  type Positions,
  type ReadableSource,
  type ReadLimits,
  type Selection,
  type SourceReader,
} from '../../src/sources/source.ts'

type Pass = <Result>(name: string, effect: () => Promise<Result>) => Promise<Result>

export interface LineStream {
  partitions: Record<string, string[]>
  /** Start of a partition without a position; called each time. */
  begin(partition: string): number
  /** Maximum number of records of a partition in one read. */
  batchRows: number
  isEndless?: boolean
}

export function lineStream(
  { partitions, begin, batchRows, isEndless = false }: LineStream,
  pass: Pass,
): ReadableSource {
  const names = Object.keys(partitions)
  let opened = 0
  const open = (positions: Positions, { assignment, until }: Selection): SourceReader => {
    // Each open returns different batches.
    const mostRows = 1 + (opened++ % batchRows)
    const isMine = (name: string): boolean =>
      until ? name in until : names.indexOf(name) % (assignment?.count ?? 1) === (assignment?.index ?? 0)
    const reading = names.filter(isMine).map((name) => {
      const lines = partitions[name] ?? []
      const next = positions[name] === undefined ? begin(name) : Number(positions[name])
      // Includes lines that are added later.
      const end = (): number => (until?.[name] === undefined ? lines.length : Number(until[name]))
      return { name, lines, next, end, mustReport: positions[name] === undefined }
    })
    const read = async ({ maxRecords, waitMs, signal }: ReadLimits): Promise<Batch[]> => {
      const batches: Batch[] = []
      let room = maxRecords
      for (const partition of reading) {
        const { name, lines, next, end } = partition
        const count = Math.min(mostRows, room, end() - next)
        if (count <= 0 && !partition.mustReport) continue
        partition.next = next + count
        partition.mustReport = false
        room -= count
        const records = lines.slice(next, next + count).map((line) => ({ value: Buffer.from(line), meta: {} }))
        batches.push({ partition: name, from: String(next), next: String(next + count), records })
      }
      if (batches.length === 0 && (!isEndless || until)) throw new EndOfInput()
      if (batches.length === 0)
        await wait(waitMs, undefined, { signal }).catch(() => Promise.reject(new NotConnected()))
      return batches
    }
    return {
      read: (limits) => pass('read', () => read(limits)),
      acknowledge: () => pass('acknowledge', async () => undefined),
      lag: () => reading.reduce((sum, { next, end }) => sum + end() - next, 0),
      close: async () => undefined,
    }
  }
  return {
    probe: async () => ({ samples: [] }),
    open: (positions, _surroundings, selection = {}) => pass('open', async () => open(positions, selection)),
  }
}

/** Objects by key, in the order of their keys. */
export function lineObjects(objects: Record<string, string>, pass: Pass): ReadableSource {
  const keys = Object.keys(objects).toSorted()
  const positionOf = (key: string): string => `etag ${key}`
  const open = (positions: Positions, { assignment = { index: 0, count: 1 }, until }: Selection): SourceReader => {
    const [partition = partitionOf(assignment)] = Object.keys(until ?? {})
    const { index: mineIndex, count: mineCount } = assignmentOf(partition) ?? assignment
    let isClosed = false
    let position = positions[partition] ?? ''
    const last = until?.[partition]
    const mine = keys.filter((_, index) => index % mineCount === mineIndex)
    // Also under another worker count.
    const isDone = (key: string): boolean =>
      Object.entries({ ...positions, [partition]: position }).some(([name, at]) => {
        const { index, count } = assignmentOf(name) ?? assignment
        const isAssigned = keys.indexOf(key) % count === index
        return isAssigned && at !== '' && key <= at.slice('etag '.length)
      })
    return {
      read: () =>
        pass('read', async () => {
          const key = mine.find((one) => !isDone(one))
          if (key === undefined || (last !== undefined && position === last)) throw new EndOfInput()
          const from = position
          position = positionOf(key)
          const text = objects[key] ?? ''
          const object = {
            key,
            sizeBytes: text.length,
            open: () =>
              pass('openObject', async () => {
                // As with real object storage: the connections are closed.
                if (isClosed) throw new NotConnected()
                return Readable.from(text === '' ? [] : [Buffer.from(text)])
              }),
          }
          return [{ partition, from, next: position, object }]
        }),
      acknowledge: async () => undefined,
      lag: () => mine.filter((key) => !isDone(key)).length,
      close: async () => {
        isClosed = true
      },
    }
  }
  return {
    probe: async () => ({ samples: [] }),
    open: (positions, _surroundings, selection = {}) => pass('open', async () => open(positions, selection)),
  }
}
