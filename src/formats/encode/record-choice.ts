// View of selected records of a list. Only their offsets are copied.
import { firstIndexWhere } from '../../lib/binary-search.ts'
import type { RecordList, ValueOffsets, ValueRun } from './record-list.ts'

/** `indexes` must be ascending. */
export function chooseRecords(records: RecordList, indexes: readonly number[]): RecordList {
  const { valueOffsets } = records
  const at = (index: number) => {
    const chosen = indexes[index]
    return chosen === undefined ? undefined : records.at(chosen)
  }
  return {
    length: indexes.length,
    at,
    *[Symbol.iterator]() {
      for (let index = 0; index < indexes.length; index++) yield at(index)!
    },
    ...(valueOffsets && { valueOffsets: chooseOffsets(valueOffsets, indexes) }),
  }
}

function chooseOffsets({ starts, ends, runs }: ValueOffsets, indexes: readonly number[]): ValueOffsets {
  const chosen: ValueRun[] = []
  let end = 0
  const firstRun = firstIndexWhere(runs.length, (runIndex) => runs[runIndex]!.end > (indexes[0] ?? 0))
  for (let runIndex = firstRun; runIndex < runs.length && end < indexes.length; runIndex++) {
    const run = runs[runIndex]!
    const before = end
    while (end < indexes.length && indexes[end]! < run.end) end++
    if (end > before) chosen.push({ bytes: run.bytes, end })
  }
  return {
    starts: Int32Array.from(indexes, (index) => starts[index]!),
    ends: Int32Array.from(indexes, (index) => ends[index]!),
    runs: chosen,
  }
}
