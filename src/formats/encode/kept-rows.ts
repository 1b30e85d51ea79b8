// Encodes rejected rows again, with the current configuration of the pipe.
import type { Buffer } from 'node:buffer'
import { asBuffer } from '../../lib/as-buffer.ts'
import { isObject } from '../../lib/merge-patch.ts'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import type { Row } from '../../source-shapes/probe.ts'
import { delimitedTextOf } from '../delimited-scan.ts'
import { fieldNames, pickedFormat } from './delimited-format.ts'
import type { EncoderParts } from './encoder.ts'
import { type FilledColumn, fillColumns, shapeByColumn } from './field-plan.ts'
import { virtualValuesOf } from './find-object-format.ts'
import { joinRows } from './joined-rows.ts'
import { makeJsonRows } from './json-rows.ts'
import { unpackMeta } from './kept-meta.ts'
import type { ObjectFormat } from './object-format.ts'
import { rowsOfPiece } from './object-rows.ts'
import { makeRecordEncoder } from './record-encoder.ts'
import { recordOfKept } from './record-rows.ts'
import type { RowEnds } from './row-ends.ts'
import type { Rows } from './rows.ts'
import { makeYieldToLoop } from './yield-to-loop.ts'

export interface KeptRow {
  partition: string
  raw: Uint8Array
  meta: string
}

/** One row for each, in order. Rejects as the encoders do. */
export async function encodeKept(parts: EncoderParts, kept: KeptRow[]): Promise<Rows> {
  if (kept.length === 0) throw new Error('there are no rows to encode')
  return parts.kind === 'objectStorage' ? rowsOfObjects(parts, kept) : rowsOfRecords(parts, kept)
}

async function rowsOfRecords(parts: EncoderParts, kept: KeptRow[]): Promise<Rows> {
  const encoder = makeRecordEncoder(parts)
  const { signal } = new AbortController()
  try {
    const encoded: Rows[] = []
    for (let start = 0; start < kept.length; ) {
      const { partition } = kept[start]!
      const others = kept.findIndex((row, index) => index > start && row.partition !== partition)
      const end = others === -1 ? kept.length : others
      encoded.push(await encoder.encode(partition, kept.slice(start, end).map(recordOfKept), signal))
      start = end
    }
    return encoder.join(encoded)
  } finally {
    await encoder.close()
  }
}

/** Files may have different fields: all rows are written in the order of the columns. */
async function rowsOfObjects(parts: EncoderParts, kept: KeptRow[]): Promise<Rows> {
  const source = parts.source as ObjectStorageSource
  const filled = fillColumns(parts.kind, parts.destination.columns, parts.fieldMappings)
  const formatFor = formatMaker(source, filled)
  const yieldToLoop = makeYieldToLoop(new AbortController().signal)
  const rows: Rows[] = []
  for (const { partition, raw, meta } of kept) {
    const bytes = asBuffer(raw)
    const { object, names } = metaOf(meta)
    const format = formatFor(bytes, virtualValuesOf(object), names)
    const piece = {
      object,
      partition,
      format: { ...format, rowEnds: oneRow, dataStart: 0 },
      bytes,
      begin: 0,
      ends: Uint32Array.of(bytes.length),
      readBytes: bytes.length,
      endsObject: true,
    }
    rows.push(await rowsOfPiece(piece, yieldToLoop))
  }
  return joinRows(rows)
}

const oneRow: RowEnds = { find: (bytes) => Uint32Array.of(bytes.length), mayCutAt: () => false }

type FormatFor = (row: Buffer, virtualValues: Row, names: string[]) => Omit<ObjectFormat, 'rowEnds' | 'dataStart'>

function formatMaker(source: ObjectStorageSource, filled: readonly FilledColumn[]): FormatFor {
  if (source.format === 'Parquet' || source.format === 'Avro') return () => notKept(filled)
  if (source.format === 'JSONEachRow') {
    const rows = makeJsonRows(filled)
    return (_row, virtualValues) => ({
      shape: rows.shape,
      isStraight: () => false,
      check: rows.check,
      checkLast: rows.checkLast,
      trim: (_bytes, range) => range,
      write: (bytes, range, out) => rows.write(bytes, range, virtualValues, out),
      kept: {},
    })
  }
  const { text, hasNames } = delimitedTextOf(source)
  return (row, virtualValues, names) => {
    const fields = hasNames ? names : fieldNames({ text, hasNames, filled, firstRow: row })
    return pickedFormat({ text, hasNames, virtualValues }, fields, filled)
  }
}

/** For formats that cannot be cut, only the object key is stored. */
function notKept(filled: readonly FilledColumn[]): ReturnType<FormatFor> {
  return {
    shape: shapeByColumn('JSONEachRow', filled),
    isStraight: () => false,
    check: () => 'it is a whole object, which only a new pipe can load',
    checkLast: () => undefined,
    trim: (_bytes, range) => range,
    write: () => undefined,
    kept: {},
  }
}

interface KeptMeta {
  object: { key: string; sizeBytes: number; modifiedAt?: Date }
  names: string[]
}

function metaOf(text: string): KeptMeta {
  const meta = unpackMeta(text)
  const { object, names } = isObject(meta) ? meta : {}
  if (!isObject(object) || typeof object.key !== 'string') throw new Error('a row was not kept with its object')
  const { key, sizeBytes, modifiedAt } = object
  return {
    object: { key, sizeBytes: Number(sizeBytes), ...(modifiedAt instanceof Date && { modifiedAt }) },
    names: Array.isArray(names) ? names.map(String) : [],
  }
}
