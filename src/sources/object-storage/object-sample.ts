// A sample of objects: the first rows of the first one, and of a few more when they are small.
import { isDeepStrictEqual } from 'node:util'
import {
  type Decoded,
  decodeObject,
  excerptOf,
  type ObjectBytes,
  type ObjectDecoding,
  toSample,
  Undecodable,
} from '../../formats/decode/decode.ts'
import { ProbeFailure, type ProbeStep, type Sample } from '../source.ts'
import { ObjectChanged, type ObjectStore, type StoredObject } from './object-store.ts'

export const maxSampledObjects = 3
/** An object that has fewer rows than asked for is asked about the next one only if it was no larger than this. */
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
    // One that is made of other fields is not of the same kind; the first one speaks for all.
    if (!joined) break
    sample = joined
    if (sample.rows.length >= maxRecords || object.sizeBytes > smallBytes) break
  }
  return toSample(sample)
}

/** What decoders ask for first is there already when they ask: whether it can be read is known before it is decoded. */
async function readAhead(object: StoredObject, { store, decoding, signal }: Sampling): Promise<ObjectBytes> {
  const { key, sizeBytes } = object
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    try {
      return await store.read(object, start, end, signal)
    } catch (error) {
      throw error instanceof ObjectChanged ? objectChanged(key, 'read') : error
    }
  }
  // Parquet has its table of contents at its end.
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

/** Whether it is already the compression that is not what it is said to be. */
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
  // What a text means is told by all of them together.
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
