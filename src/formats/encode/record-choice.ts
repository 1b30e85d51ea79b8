// Some of the records of a list as a list: nothing is copied of them but where they are.
import { firstPlace } from '../../lib/binary-search.ts'
import type { RecordList, ValueOffsets, ValueRun } from '../../sources/source.ts'

/** Indexes are in order. */
export function chooseRecords(records: RecordList, indexes: readonly number[]): RecordList {
  const { places } = records
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
    ...(places && { places: choosePlaces(places, indexes) }),
  }
}

function choosePlaces({ starts, ends, runs }: ValueOffsets, indexes: readonly number[]): ValueOffsets {
  const chosen: ValueRun[] = []
  let end = 0
  const firstRun = firstPlace(runs.length, (place) => runs[place]!.end > (indexes[0] ?? 0))
  for (let place = firstRun; place < runs.length && end < indexes.length; place++) {
    const run = runs[place]!
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
