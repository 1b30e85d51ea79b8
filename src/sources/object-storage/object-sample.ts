// A sample of objects: the first rows of the first one, and of a few more when they are small.
import { isDeepStrictEqual } from 'node:util'
import { decodeObject, toSample } from '../../formats/decode/decode.ts'
import type { Decoded, ObjectBytes, ObjectDecoding } from '../../formats/decode/decoding.ts'
import { excerptOf, Undecodable } from '../../formats/undecodable.ts'
import type { ProbeStep, Sample } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { ObjectChanged, type ObjectStore, type StoredObject } from './object-store.ts'

export const maxSampledObjects = 3
/** The next object is sampled too only if the one before was no larger than this. */
const smallBytes = 256 * 1024

export interface Sampling {
  store: ObjectStore
  decoding: Omit<ObjectDecoding, 'maxRows' | 'signal'>
  maxRecords: number
  signal: AbortSignal
  begin(step: ProbeStep): void
}

export async function sampleObjects(objects: StoredObject[], sampling: Sampling): Promise<Sample> {
  const { maxRecords, begin } = sampling
  let sample: Decoded = { rows: [] }
  for (const [index, object] of objects.slice(0, maxSampledObjects).entries()) {
    if (index === 0) begin('read')
    const bytes = await readAhead(object, sampling)
    if (index === 0) begin('decode')
    const decoded = await decode(bytes, sampling, maxRecords - sample.rows.length)
    const joined = index === 0 ? decoded : await join(sample, decoded, sampling)
    // An object with other fields ends the sample: the first object decides.
    if (!joined) break
    sample = joined
    if (sample.rows.length >= maxRecords || object.sizeBytes > smallBytes) break
  }
  return toSample(sample)
}

/** Reads the bytes that decoders need first, so that read errors occur before the step `decode`. */
async function readAhead(object: StoredObject, { store, decoding, signal }: Sampling): Promise<ObjectBytes> {
  const { key, sizeBytes } = object
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    try {
      return await store.read(object, start, end, signal)
    } catch (error) {
      throw error instanceof ObjectChanged ? objectChanged(key, 'read') : error
    }
  }
  // Parquet has its footer at the end.
  const isFromEnd = decoding.format === 'Parquet'
  const first = isFromEnd ? Math.max(0, sizeBytes - smallBytes) : 0
  const last = isFromEnd ? sizeBytes : Math.min(sizeBytes, smallBytes)
  const ahead = await read(first, last)
  return {
    key,
    sizeBytes,
    read: async (start, end) =>
      start >= first && end <= last ? ahead.subarray(start - first, end - first) : read(start, end),
  }
}

async function decode(bytes: ObjectBytes, { decoding, signal }: Sampling, maxRows: number): Promise<Decoded> {
  try {
    return await decodeObject(bytes, { ...decoding, maxRows, signal })
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error
    const isOfCompression = await isWronglyCompressed(bytes, decoding)
    throw new ProbeFailure({
      step: 'decode',
      code: 'undecodable',
      reason: `the object ${excerptOf(bytes.key, 200)} cannot be read as ${decoding.format}: ${error.reason}`,
      remedy: isOfCompression
        ? 'check compression, and that the object is whole'
        : 'check format, and that the pattern takes only objects of that format',
      field: isOfCompression ? 'compression' : 'format',
    })
  }
}

/** Whether the compression is already wrong. */
async function isWronglyCompressed(bytes: ObjectBytes, { compression }: Sampling['decoding']): Promise<boolean> {
  const { readStart } = await import('../../formats/decode/compression.ts')
  return readStart(bytes, compression).then(
    () => false,
    (error: unknown) => error instanceof Undecodable,
  )
}

async function join(first: Decoded, second: Decoded, { decoding }: Sampling): Promise<Decoded | undefined> {
  const rows = [...first.rows, ...second.rows]
  if (!first.fields || !second.fields) return { rows }
  const isText = decoding.format.startsWith('CSV') || decoding.format.startsWith('TabSeparated')
  if (!isText) return isDeepStrictEqual(first.fields, second.fields) ? { rows, fields: first.fields } : undefined
  // Types of text are inferred from the rows of both objects.
  const names = [first, second].map(({ fields }) => fields?.map(({ name }) => name))
  if (!isDeepStrictEqual(names[0], names[1])) return undefined
  const { inferFieldsOfText } = await import('../../formats/decode/infer-fields.ts')
  return { rows, fields: inferFieldsOfText(rows) }
}

export function objectChanged(key: string, step: ProbeStep): ProbeFailure {
  return new ProbeFailure({
    step,
    code: 'source_failed',
    reason: `the object ${excerptOf(key, 200)} was changed or deleted while it was being read`,
    remedy: 'have objects written once and under new names, and try again',
  })
}
