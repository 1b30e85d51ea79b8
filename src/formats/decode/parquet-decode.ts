// Decodes the first rows of a Parquet object, with the columns of its schema. Reads only the footer and the first pages of each
// column. Runs in a separate process, because the library does not validate its input.
import { Buffer } from 'node:buffer'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import {
  type ColumnChunk,
  type Compressors,
  type FileMetaData,
  parquetRead,
  parquetSchema,
  type RowGroup,
  type SchemaTree,
} from 'hyparquet'
import { compressors as libraryCompressors } from 'hyparquet-compressors'
import type { Row } from '../../source-shapes/probe.ts'
import { excerptOf, Undecodable } from '../undecodable.ts'
import { compressionOf, decompress } from './compression.ts'
import type { Compression, Decoded, ObjectBytes } from './decoding.ts'
import { cutRow, sampleBudgetOf } from './parquet-cut.ts'
import {
  arrayBufferOf,
  type ChunkRange,
  damaged,
  type Read,
  readFirstPages,
  readFooter,
  storedValues,
} from './parquet-pages.ts'
import { type ColumnReading, fieldOf, readingOf, withoutConversions } from './parquet-types.ts'

const maxCompressedBytes = 64 * 1024 * 1024
const maxRowGroups = 8
const maxSchemaDepth = 100
const columnsAtOnce = 8
/** Smaller row groups are read with one request. */
const smallGroupBytes = 1024 * 1024

// Node's decompressors are faster, and limit the size of their output.
const decompressors: Compressors = {
  ...libraryCompressors,
  GZIP: (input, outputLength) => gunzipSync(input, { maxOutputLength: outputLength }),
  BROTLI: (input, outputLength) => brotliDecompressSync(input, { maxOutputLength: outputLength }),
  ZSTD: (input, outputLength) => zstdDecompressSync(input, { maxOutputLength: outputLength }),
}
// A page of nulls is empty, which not every codec can decompress.
const compressors: Compressors = Object.fromEntries(
  Object.entries(decompressors).map(([codec, decompressPage]) => [
    codec,
    (input: Uint8Array, outputLength: number) =>
      outputLength === 0 ? new Uint8Array() : decompressPage(input, outputLength),
  ]),
)

export async function firstRows(object: ObjectBytes, compression: Compression, maxRows: number): Promise<Decoded> {
  const { read, sizeBytes } = await bareObject(object, compression)
  const metadata = await readFooter(read, sizeBytes)
  const schema = schemaOf(metadata)
  const columns = schema.children.map((column) => ({ name: column.element.name, column, reading: readingOf(column) }))
  const fields = schema.children.map(fieldOf)
  const budget = sampleBudgetOf(fields)
  const rows: Row[] = []
  const groups = metadata.row_groups.filter(({ num_rows }) => num_rows > 0)
  for (const group of groups.slice(0, maxRowGroups)) {
    const rowCount = Math.min(maxRows - rows.length, Number(group.num_rows))
    if (rowCount <= 0) break
    const readGroup = await groupReader(read, sizeBytes, group)
    const chunks = Map.groupBy(group.columns, ({ meta_data }) => meta_data?.path_in_schema[0])
    const values = await mapConcurrently(columns, columnsAtOnce, ({ name, column, reading }) =>
      readColumn(readGroup, { metadata, group, chunks: chunks.get(name) ?? [], column, reading, rowCount }),
    )
    const complete = values.reduce((least, { length }) => Math.min(least, length), rowCount)
    for (let index = 0; index < complete; index++) {
      const row = cutRow(
        columns.map(({ name }, columnIndex) => [name, values[columnIndex]?.[index] ?? null]),
        budget,
      )
      if (!row && rows.length === 0)
        throw new Undecodable('the first row of the Parquet object is more than a sample may hold')
      if (!row) return { rows, fields }
      rows.push(row)
    }
    if (complete < rowCount) break
  }
  return { rows, fields }
}

/** The Parquet object without outer compression. */
async function bareObject(object: ObjectBytes, compression: Compression): Promise<{ read: Read; sizeBytes: number }> {
  const { key, sizeBytes } = object
  const first = await object.read(0, Math.min(sizeBytes, 20))
  const isParquet = /^PAR[1E]/.test(Buffer.from(first).toString('latin1'))
  if (isParquet && (compression === 'auto' || compression === 'none')) {
    return { read: (start, end) => object.read(start, end), sizeBytes }
  }
  if (isParquet) {
    throw new Undecodable(`compression is ${compression}, but the object is bare Parquet, which compresses itself`)
  }
  const method = compressionOf(key, first, compression)
  if (method === 'none') {
    const found = sizeBytes === 0 ? 'is empty' : `begins with ${excerptOf(Buffer.from(first).toString('latin1'))}`
    throw new Undecodable(`the object is not Parquet: it ${found}`)
  }
  const tooLarge = new Undecodable(
    `the object is larger than 64 MiB and compressed with ${method} as a whole; Parquet compresses itself, and can then be read in parts`,
  )
  if (sizeBytes > maxCompressedBytes) throw tooLarge
  const options = { method, isCut: false, maxBytes: maxCompressedBytes }
  const { bytes, isComplete } = await decompress(await object.read(0, sizeBytes), options)
  if (!isComplete) throw tooLarge
  return { read: async (start, end) => bytes.subarray(start, end), sizeBytes: bytes.length }
}

function schemaOf(metadata: FileMetaData): SchemaTree {
  // Some writers set only the logical type of groups; the library reads only the converted type.
  for (const element of metadata.schema) {
    if (typeof element.name !== 'string') throw damaged('schema')
    const group = element.logical_type?.type
    if (element.type === undefined && (group === 'LIST' || group === 'MAP')) element.converted_type = group
  }
  try {
    if (depthOf(metadata) > maxSchemaDepth) throw damaged('schema')
    return parquetSchema(metadata)
  } catch {
    throw damaged('schema')
  }
}

function depthOf({ schema }: FileMetaData): number {
  let deepest = 0
  const open: number[] = []
  for (const { num_children = 0 } of schema) {
    while (open.at(-1) === 0) open.pop()
    if (open.length > 0) open[open.length - 1]!--
    if (num_children > 0) open.push(num_children)
    deepest = Math.max(deepest, open.length)
  }
  return deepest
}

async function groupReader(read: Read, sizeBytes: number, group: RowGroup): Promise<Read> {
  const ranges = group.columns.map((chunk) => rangeOf(chunk, sizeBytes))
  const startByte = ranges.reduce((least, range) => Math.min(least, range.startByte), sizeBytes)
  const endByte = ranges.reduce((most, range) => Math.max(most, range.endByte), 0)
  if (endByte - startByte > smallGroupBytes) return read
  const bytes = await read(startByte, endByte)
  return async (start, end) => bytes.subarray(start - startByte, end - startByte)
}

function rangeOf({ meta_data, file_path }: ColumnChunk, sizeBytes = Number.POSITIVE_INFINITY): ChunkRange {
  if (file_path) throw new Undecodable('the Parquet object has its data in other files')
  if (!meta_data) throw new Undecodable('the Parquet object has columns that are encrypted')
  const startByte = Number(meta_data.dictionary_page_offset || meta_data.data_page_offset)
  const endByte = startByte + Number(meta_data.total_compressed_size)
  if (!(startByte >= 4 && endByte >= startByte && endByte <= sizeBytes)) throw damaged('footer')
  return { startByte, endByte }
}

interface ColumnRequest {
  metadata: FileMetaData
  group: RowGroup
  /** One for each leaf of the column. */
  chunks: ColumnChunk[]
  column: SchemaTree
  reading: ColumnReading
  rowCount: number
}

/** The first values of a column of a row group; may be fewer than `rowCount` when its pages have no row count. */
async function readColumn(
  read: Read,
  { metadata, group, chunks, column, reading, rowCount }: ColumnRequest,
): Promise<unknown[]> {
  const { name, repetition_type } = column.element
  if (chunks.length === 0) return Array(rowCount).fill(null)
  const isFlat = column.children.length === 0 && repetition_type !== 'REPEATED'
  const pieces = await Promise.all(
    chunks.map((chunk) => {
      const valuesPerRow = Number(chunk.meta_data?.num_values ?? 0) / Number(group.num_rows)
      return readFirstPages(read, rangeOf(chunk), { rows: rowCount, isFlat, valuesPerRow })
    }),
  )
  let offset = 0
  const columns = chunks.map((chunk, index): ColumnChunk => {
    const sizeBytes = pieces[index]!.bytes.length
    const { dictionary_page_offset: _, ...rest } = chunk.meta_data!
    const meta_data = { ...rest, data_page_offset: BigInt(offset), total_compressed_size: BigInt(sizeBytes) }
    offset += sizeBytes
    return { file_offset: 0n, meta_data }
  })
  const values = await decodeColumn(Buffer.concat(pieces.map(({ bytes }) => bytes)), {
    metadata: {
      ...metadata,
      schema: [{ name: 'root', num_children: 1 }, ...withoutConversions(column)],
      row_groups: [{ ...group, columns }],
    },
    name,
    reading,
    rowCount,
  })
  // The last row of a list may continue in the next page, which was not read.
  const isCut = !isFlat && values.length < rowCount && pieces.some((piece) => piece.isCut)
  return isCut && values.length > 1 ? values.slice(0, -1) : values
}

async function decodeColumn(
  bytes: Uint8Array,
  { metadata, name, reading, rowCount }: Pick<ColumnRequest, 'metadata' | 'reading' | 'rowCount'> & { name: string },
): Promise<unknown[]> {
  const values: unknown[] = []
  try {
    await parquetRead({
      file: arrayBufferOf(bytes),
      metadata,
      columns: [name],
      rowEnd: rowCount,
      compressors,
      parsers: storedValues,
      utf8: false,
      geoparquet: false,
      onChunk: ({ columnData }) => {
        for (let index = 0; index < columnData.length && values.length < rowCount; index++)
          values.push(reading.toValue(columnData[index]))
      },
    })
  } catch {
    throw damaged(`column ${excerptOf(name, 100)}`)
  }
  return values
}

/** Like Promise.all of a map, with limited concurrency; starts no more calls after a failure. */
async function mapConcurrently<Item, Result>(
  items: Item[],
  atOnce: number,
  each: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let queue = [...items.entries()]
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await each(next[1])
  }
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
    return results
  } finally {
    queue = []
  }
}
