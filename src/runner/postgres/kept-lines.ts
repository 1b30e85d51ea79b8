// Converts stored rejected lines for a replay, with the columns that the target has now.
import type { Buffer } from 'node:buffer'
import type { RejectedRow } from '../../engine/rejected-row.ts'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import type { KeptRow } from '../../formats/encode/kept-rows.ts'
import type { RowShape, Rows } from '../../formats/encode/rows.ts'
import { asBuffer } from '../../lib/as-buffer.ts'
import { isObject } from '../../lib/merge-patch.ts'
import { isCutBy } from './checked-values.ts'
import { lineRows } from './line-rows.ts'
import { versionColumn } from './names.ts'
import { newline, nullText, tab } from './text-fields.ts'
import { reasonOf } from './values.ts'

/** One row for each kept row, in order. `shape` is that of the target's lines. Throws when one was not kept by `lineRows`. */
export function rowsOfKeptLines(shape: RowShape, kept: readonly KeptRow[]): Rows {
  const out = new ByteOutput({ expectedBytes: 4096 })
  const rejected: RejectedRow[] = []
  for (const [row, { raw, meta }] of kept.entries()) {
    const line = asBuffer(raw)
    const names = namesOf(meta)
    const ranges = new Map(fieldsOf(line).map((range, index) => [names[index], range]))
    const isCut = ({ name, type }: { name: string; type: string }): boolean => {
      const range = ranges.get(name)
      return range !== undefined && isCutBy(type, line.toString('latin1', range.start, range.end))
    }
    const cut = shape.fields.find(isCut)
    if (cut) rejected.push({ index: row, reason: reasonOf(cut.name, `${cut.type} cannot hold the value`) })
    for (const [index, { name, type }] of shape.fields.entries()) {
      if (index > 0) out.byte(tab)
      const range = ranges.get(name)
      if (range) out.bytes(line, range.start, range.end)
      else out.text(type.startsWith('Array(') ? '[]' : nullText)
    }
    out.byte(newline)
  }
  const partition = kept[0]?.partition ?? ''
  return lineRows({ shape, chunks: [out.take()], rejected, partition, position: (index) => `kept row ${index + 1}` })
}

/** The row version of a kept line. Throws when it was not kept by `lineRows`. */
export function versionOfKept({ raw, meta }: Pick<KeptRow, 'raw' | 'meta'>): bigint {
  const line = asBuffer(raw)
  const range = fieldsOf(line)[namesOf(meta).indexOf(versionColumn)]
  if (!range) throw new Error('a row was not kept with its version')
  return BigInt(line.toString('latin1', range.start, range.end))
}

/** The `loadId` of the table that rejected the line; undefined when it was stored without one. */
export function findLoadOfKept({ meta }: Pick<KeptRow, 'meta'>): string | undefined {
  const { loadId } = parseMeta(meta)
  return typeof loadId === 'string' ? loadId : undefined
}

function namesOf(meta: string): string[] {
  const { fields } = parseMeta(meta)
  if (!Array.isArray(fields)) throw new Error('a row was not kept with its fields')
  return fields.map(String)
}

function parseMeta(meta: string): Record<string, unknown> {
  const parsed: unknown = JSON.parse(meta)
  return isObject(parsed) ? parsed : {}
}

function fieldsOf(line: Buffer): { start: number; end: number }[] {
  const fields: { start: number; end: number }[] = []
  let start = 0
  for (let end = line.indexOf(tab); end >= 0; end = line.indexOf(tab, start)) {
    fields.push({ start, end })
    start = end + 1
  }
  fields.push({ start, end: line.length })
  return fields
}
