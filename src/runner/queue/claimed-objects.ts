// Opens objects claimed by an earlier attempt, in the version that was claimed.

import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { begun, versionOf } from '../../sources/object-storage/queued-objects.ts'
import { finishedPosition, type SourceReader } from '../../sources/source.ts'
import { type FoundObject, type RangeObjects, readSelected } from '../rebuild-objects.ts'
import type { Session } from '../session.ts'
import { objectGivenUp } from './given-up.ts'

export interface ClaimedObjects {
  /** By partition, without objects that were deleted or changed. */
  list(partitions: string[]): Promise<Map<string, FoundObject>>
  /** Rejects with a ProbeFailure about the object when it is missing. */
  load(partition: string): Promise<FoundObject>
  /** Afterwards the objects cannot be read any more. */
  close(): Promise<void>
}

export function makeClaimedObjects({ parts, signal, stopping }: Session): ClaimedObjects {
  /** Readers of the objects found so far. */
  const readers = new Set<SourceReader>()

  const close = async (reader: SourceReader): Promise<void> => {
    readers.delete(reader)
    await reader.close().catch(() => undefined)
  }

  const list: ClaimedObjects['list'] = async (partitions) => {
    signal.throwIfAborted()
    const positionsAt = (position: string) => Object.fromEntries(partitions.map((partition) => [partition, position]))
    const selection = { until: positionsAt(finishedPosition) }
    const reader = await parts.source.open(positionsAt(begun), { egress: parts.egress, signal }, selection)
    readers.add(reader)
    const found = new Map<string, FoundObject>()
    for (const { partition, object } of await readSelected(reader, partitions.length, stopping)) {
      if (object) found.set(partition, object)
    }
    if (found.size === 0) await close(reader)
    return found
  }

  return {
    list,
    async load(partition) {
      const object = (await list([partition])).get(partition)
      if (!object) throw objectGone(partition)
      return object
    },
    async close() {
      await Promise.all([...readers].map(close))
    },
  }
}

/** For ranges that are one object each. */
export function claimedRanges(session: Session): RangeObjects {
  const objects = makeClaimedObjects(session)
  return {
    async list(ranges) {
      const found = await objects.list(ranges.map(({ partition }) => partition))
      return new Map(
        ranges.flatMap((range) => {
          const object = found.get(range.partition)
          return object ? [[range, object]] : []
        }),
      )
    },
    gone: ({ partition }) => objectGone(partition),
    givenUp: ({ partition }, trouble, whatIsThere) => objectGivenUp(partition, trouble, whatIsThere),
    close: () => objects.close(),
  }
}

function objectGone(partition: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'source_failed',
    reason: `the object ${versionOf(partition)?.key} was changed or deleted before it was read`,
    remedy: 'have objects written once and under new names',
  })
}
