// Reads the footer of a Parquet object and the first pages of each column. Sizes in the file are untrusted: reads are limited, and
// the library only gets input that cannot make it allocate more memory than the input has.
import { Buffer } from 'node:buffer'
import { type FileMetaData, parquetMetadata } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { Undecodable } from '../undecodable.ts'

export type Read = (start: number, end: number) => Promise<Uint8Array>

const mebibyte = 1024 * 1024
const firstFooterBytes = 64 * 1024
const maxFooterBytes = 16 * mebibyte
const firstPageBytes = 64 * 1024
const maxPageBytes = 64 * mebibyte
const maxPageValues = 8_000_000
/** For a column whose pages have no row count. */
const maxUncountedBytes = 8 * mebibyte

export const damaged = (what: string): Undecodable =>
  new Undecodable(`the ${what} of the Parquet object cannot be read`)

/** Disables conversions of the library. */
export const storedValues = {
  timestampFromNanoseconds: (nanoseconds: bigint) => nanoseconds,
  timestampFromMilliseconds: (milliseconds: bigint) => milliseconds,
  timestampFromMicroseconds: (microseconds: bigint) => microseconds,
  dateFromDays: (days: number) => days,
}

export async function readFooter(read: Read, sizeBytes: number): Promise<FileMetaData> {
  const tail = await read(Math.max(0, sizeBytes - firstFooterBytes), sizeBytes)
  const mark = Buffer.from(tail.subarray(-4)).toString('latin1')
  if (mark === 'PARE') throw new Undecodable('the Parquet object is encrypted')
  if (mark !== 'PAR1' || sizeBytes < 12) throw new Undecodable('the object does not end as Parquet does, with PAR1')
  const footerBytes = Buffer.from(tail.subarray(-8)).readUInt32LE(0)
  if (footerBytes > sizeBytes - 12) throw damaged('footer')
  if (footerBytes > maxFooterBytes) {
    throw new Undecodable(
      `the footer of the Parquet object has ${footerBytes} bytes, and at most ${maxFooterBytes} are read`,
    )
  }
  const isThere = footerBytes + 8 <= tail.length
  const footer = isThere ? tail.subarray(-(footerBytes + 8)) : await read(sizeBytes - footerBytes - 8, sizeBytes)
  try {
    if (endOfStruct(footer, 0) !== footerBytes) throw damaged('footer')
    return parquetMetadata(arrayBufferOf(footer), { geoparquet: false, parsers: storedValues })
  } catch {
    throw damaged('footer')
  }
}

export interface ChunkRange {
  startByte: number
  endByte: number
}

export interface PageRequest {
  rows: number
  /** Each value is a row. */
  isFlat: boolean
  /** Average of the chunk, used where pages have no row count. */
  valuesPerRow: number
}

/** The first pages of a column chunk, as many as the rows need. */
export async function readFirstPages(
  read: Read,
  { startByte, endByte }: ChunkRange,
  { rows, isFlat, valuesPerRow }: PageRequest,
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const sizeBytes = endByte - startByte
  let bytes = await read(startByte, startByte + Math.min(sizeBytes, firstPageBytes))
  const extend = async (toBytes: number): Promise<void> => {
    if (toBytes > sizeBytes) throw damaged('data')
    const end = Math.min(sizeBytes, toBytes + firstPageBytes)
    bytes = Buffer.concat([bytes, await read(startByte + bytes.length, startByte + end)])
  }
  let at = 0
  let rowsRead = 0
  while (rowsRead < rows && at < sizeBytes) {
    let page = pageAt(bytes, at)
    while (!page) {
      if (bytes.length - at > mebibyte) throw damaged('data')
      await extend(bytes.length + 1)
      page = pageAt(bytes, at)
    }
    if (page.end > bytes.length) await extend(page.end)
    at = page.end
    rowsRead += page.rows ?? (isFlat ? page.values : page.values / (2 * Math.max(1, valuesPerRow)))
    if (page.rows === undefined && !isFlat && at > maxUncountedBytes) break
  }
  return { bytes: bytes.subarray(0, at), isCut: at < sizeBytes }
}

interface Page {
  end: number
  values: number
  /** Only in data pages of version 2. */
  rows: number | undefined
}

/** Undefined when the header is incomplete. */
function pageAt(bytes: Uint8Array, start: number): Page | undefined {
  const headerEnd = endOfStruct(bytes, start)
  if (headerEnd === undefined) return undefined
  const header = parquetHeader({ view: new DataView(arrayBufferOf(bytes.subarray(start, headerEnd))), offset: 0 })
  const { compressed_page_size, uncompressed_page_size, data_page_header, data_page_header_v2 } = header
  const values = (data_page_header ?? data_page_header_v2 ?? header.dictionary_page_header)?.num_values
  const isSound = [compressed_page_size, uncompressed_page_size, values].every(
    (size) => Number.isInteger(size) && size! >= 0,
  )
  if (!isSound || values === undefined) throw damaged('data')
  if (Math.max(compressed_page_size, uncompressed_page_size) > maxPageBytes || values > maxPageValues) {
    throw new Undecodable(`the Parquet object has a page of more than ${maxPageBytes} bytes or ${maxPageValues} values`)
  }
  const isData = data_page_header !== undefined || data_page_header_v2 !== undefined
  return {
    end: headerEnd + compressed_page_size,
    values: isData ? values : 0,
    rows: isData ? data_page_header_v2?.num_rows : 0,
  }
}

/** A copy, because the library needs an ArrayBuffer. */
export function arrayBufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

const maxStructDepth = 64

/**
 * End of a struct in Thrift's compact protocol; undefined when the bytes end before. A list with more elements than bytes counts as
 * incomplete, because the library allocates memory for the claimed size.
 */
function endOfStruct(bytes: Uint8Array, start: number): number | undefined {
  let at = start
  const byte = (): number => {
    const value = bytes[at++]
    if (value === undefined) throw new EndOfBytes()
    return value
  }
  const varint = (): number => {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const part = byte()
      value += (part & 0x7f) * 2 ** shift
      if (part < 0x80) return value
    }
    throw damaged('data')
  }
  const skip = (sizeBytes: number): void => {
    at += sizeBytes
    if (at > bytes.length) throw new EndOfBytes()
  }
  const list = (depth: number): void => {
    const head = byte()
    const size = head >> 4 === 15 ? varint() : head >> 4
    if (size > bytes.length - at) throw new EndOfBytes()
    for (let index = 0; index < size; index++) element(head & 0x0f, depth, true)
  }
  const element = (type: number, depth: number, isInList: boolean): void => {
    if (depth > maxStructDepth) throw damaged('data')
    if (type === 1 || type === 2) skip(isInList ? 1 : 0)
    else if (type === 3) skip(1)
    else if (type >= 4 && type <= 6) varint()
    else if (type === 7) skip(8)
    else if (type === 8) skip(varint())
    else if (type === 9) list(depth + 1)
    else if (type === 12) struct(depth + 1)
    else throw damaged('data')
  }
  const struct = (depth: number): void => {
    for (let head = byte(); head !== 0; head = byte()) {
      if (head >> 4 === 0) varint()
      element(head & 0x0f, depth, false)
    }
  }
  try {
    struct(0)
    return at
  } catch (error) {
    if (error instanceof EndOfBytes) return undefined
    throw error
  }
}

class EndOfBytes extends Error {}
