// Rows of objects that ClickHouse reads as a whole: Parquet and Avro object container files.
import type { Readable } from 'node:stream'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { type WholeFormat, wholeFileProblems } from '../decode/whole-file-fit.ts'
import { type FilledColumn, shapeByField } from './field-plan.ts'
import { packMeta } from './kept-meta.ts'
import type { ObjectToEncode } from './object-format.ts'
import { type ObjectPlan, streamOf } from './object-stream.ts'
import type { Rows } from './rows.ts'

/** Throws a ProbeFailure when columns cannot be filled from such an object. */
export function wholeObjectRows(
  plan: ObjectPlan,
  object: ObjectToEncode,
  partition: string,
  signal: AbortSignal,
): Rows {
  const { filled, source } = plan
  const format: WholeFormat = source.format === 'Parquet' ? 'Parquet' : 'Avro'
  refuseUnfilled(filled, format)
  const { key, sizeBytes } = object
  const whole: Rows = {
    shape: shapeByField(format, filled),
    count: 1,
    readBytes: sizeBytes,
    undecodable: [],
    isDivisible: false,
    body: (): Readable => streamOf(plan, object, signal),
    only: () => whole,
    without: () => whole,
    keep: () => ({
      partition,
      position: `the object ${key}`,
      raw: new Uint8Array(),
      meta: packMeta({ object: { key, sizeBytes, modifiedAt: object.modifiedAt ?? null } }),
    }),
  }
  return whole
}

/** ClickHouse fills columns only from fields of the file, each with one type. */
function refuseUnfilled(filled: readonly FilledColumn[], format: WholeFormat): void {
  const [reason] = wholeFileProblems(filled, format)
  if (reason === undefined) return
  const remedy = 'map the columns to fields of the files, or leave them out'
  throw new ProbeFailure({ step: 'fit', code: 'misfit', reason, remedy, field: 'fieldMappings' })
}
