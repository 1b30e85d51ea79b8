// Random files of every format, intact or damaged, with known rows: `id` is unique, and `name` is derived from it.
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import avsc from 'avsc'
import { parquetWriteBuffer } from 'hyparquet-writer'
import type { Random } from '../../chaos/random.ts'
import type { ObjectFormat } from '../../src/formats/decode/decoding.ts'

export interface DrawnFile {
  key: string
  bytes: Buffer
  ids: number[]
  /** Undefined: the file is intact, and all of its rows must arrive. */
  damage: string | undefined
  /** Replaces the file while the pipe runs: then the rows of one version must arrive, or the file must be reported. */
  successor?: { bytes: Buffer; ids: number[] }
}

export const textFormats: ObjectFormat[] = [
  'JSONEachRow',
  'CSV',
  'CSVWithNames',
  'TabSeparated',
  'TabSeparatedWithNames',
]
export const allFormats: ObjectFormat[] = [...textFormats, 'Parquet', 'Avro']

/** Includes texts that formats must quote or escape. */
export function nameOf(id: number): string {
  return [`name ${id}`, `a "quoted" ${id}`, `two\nlines ${id}`, `comma, tab\t ${id}`, `back\\slash ${id}`, `ü ${id}`][
    id % 6
  ]!
}

export async function drawFile(
  random: Random,
  { format, key, ids, isGood }: { format: ObjectFormat; key: string; ids: number[]; isGood: boolean },
): Promise<DrawnFile> {
  if (format === 'Parquet' || format === 'Avro') return drawWhole(random, { format, key, ids, isGood })
  const damage = isGood ? undefined : random.pick([...textDamages, ...damagesOf(format)])
  const good = textOf(random, format, ids)
  if (!damage) return compressed(random, { key, bytes: good, ids, damage: undefined })
  const damaged = { key, bytes: damage.make(good, random, format), ids, damage: damage.name }
  return damage.isOfFile ? { ...damaged, key: `${key}${damage.ending ?? ''}` } : compressed(random, damaged)
}

function textOf(random: Random, format: ObjectFormat, ids: number[]): Buffer {
  const lineEnd = random.pick(['\n', '\n', '\r\n'])
  const hasNames = format.endsWith('WithNames')
  const isTurned = hasNames && random.happens(0.3)
  const delimiter = format.startsWith('CSV') ? ',' : '\t'
  const cellsOf = (id: number): string[] => [String(id), cellOf(format, nameOf(id))]
  const inOrder = (cells: string[]): string => (isTurned ? cells.toReversed() : cells).join(delimiter)
  const lines =
    format === 'JSONEachRow'
      ? ids.map((id) => JSON.stringify({ id, name: nameOf(id) }))
      : [...(hasNames ? [inOrder(['id', 'name'])] : []), ...ids.map((id) => inOrder(cellsOf(id)))]
  const mark = random.happens(0.2) ? '\ufeff' : ''
  const ending = random.pick(['', lineEnd, lineEnd, lineEnd + lineEnd])
  return Buffer.from(`${mark}${lines.join(lineEnd)}${lines.length > 0 ? ending : ''}`)
}

function cellOf(format: ObjectFormat, text: string): string {
  if (format.startsWith('CSV')) return `"${text.replaceAll('"', '""')}"`
  return text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n')
}

function compressed(random: Random, file: DrawnFile): DrawnFile {
  const [ending, compress] = random.pick(compressions)
  return { ...file, key: `${file.key}${ending}`, bytes: compress(file.bytes) }
}

const compressions: [ending: string, compress: (bytes: Buffer) => Buffer][] = [
  ['', (bytes) => bytes],
  ['', (bytes) => bytes],
  ['.gz', (bytes) => gzipSync(bytes)],
  ['.zst', (bytes) => zstdCompressSync(bytes)],
  ['.br', (bytes) => brotliCompressSync(bytes)],
]

interface DamageKind {
  name: string
  make(good: Buffer, random: Random, format: ObjectFormat): Buffer
  /** Applies to the compressed file, which is built here. */
  isOfFile?: boolean
  ending?: string
}

const without = (bytes: Buffer, count: number): Buffer => bytes.subarray(0, Math.max(1, bytes.length - count))
const garbage = Buffer.from('\u0001 no rows at all \u0002')

/** For every text format. */
const textDamages: DamageKind[] = [
  {
    name: 'gzip that is cut',
    isOfFile: true,
    ending: '.gz',
    make: (good, random) => without(gzipSync(good), random.between(1, 12)),
  },
  {
    name: 'bytes behind gzip',
    isOfFile: true,
    ending: '.gz',
    make: (good) => Buffer.concat([gzipSync(good), garbage]),
  },
  {
    name: 'bytes behind brotli',
    isOfFile: true,
    ending: '.br',
    make: (good) => Buffer.concat([brotliCompressSync(good), garbage]),
  },
  {
    name: 'zstd that is cut',
    isOfFile: true,
    ending: '.zst',
    make: (good, random) => without(zstdCompressSync(good), random.between(1, 8)),
  },
  { name: 'a name of gzip without gzip', isOfFile: true, ending: '.gz', make: (good) => good },
  {
    name: 'an unsupported compression',
    isOfFile: true,
    ending: '.bz2',
    make: () => Buffer.from('BZh91AY&SY\u0001', 'latin1'),
  },
]

function damagesOf(format: ObjectFormat): DamageKind[] {
  if (format === 'JSONEachRow') return jsonDamages
  return format.startsWith('CSV') ? csvDamages : tsvDamages
}

const jsonDamages: DamageKind[] = [
  { name: 'a last line that is cut', make: (good, random) => without(trimmed(good), random.between(1, 6)) },
  {
    name: 'a last line that is cut behind a brace',
    make: (good) => Buffer.concat([good, Buffer.from('\n{"id":1,"more":{"id":2}')]),
  },
  { name: 'text that is no JSON', make: (good) => Buffer.concat([good, Buffer.from('\nnothing\n')]) },
]

const csvDamages: DamageKind[] = [
  { name: 'a quote that is not closed', make: (good) => Buffer.concat([good, Buffer.from('\n77,"no end\n')]) },
  {
    name: 'a quote that is not closed, before rows',
    make: (good) => Buffer.concat([good, Buffer.from('\n77,"no end\n78,plain\n79,plain')]),
  },
  { name: 'a last value that is cut', make: cutInQuotes },
  { name: 'a row with too many values', make: (good) => Buffer.concat([good, Buffer.from('\n77,a,b,c\n')]) },
  { name: 'no number', make: (good) => Buffer.concat([good, Buffer.from('\nnone,none\n')]) },
]

const tsvDamages: DamageKind[] = [
  { name: 'a backslash at the end', make: (good) => Buffer.concat([good, Buffer.from('\n77\tno end\\')]) },
  {
    name: 'a backslash and a newline at the end',
    make: (good) => Buffer.concat([good, Buffer.from('\n77\tno end\\\n')]),
  },
  { name: 'no number', make: (good) => Buffer.concat([good, Buffer.from('\nnone\tnone\n')]) },
]

/** Truncates within quotes: a truncated number is another valid number, which cannot be detected. */
function cutInQuotes(good: Buffer): Buffer {
  const rows = trimmed(good)
  return rows.at(-1) === 0x22 ? without(rows, 1) : Buffer.concat([rows, Buffer.from('\n77,"no end')])
}

function trimmed(bytes: Buffer): Buffer {
  let { length } = bytes
  while (length > 0 && (bytes[length - 1] === 0x0a || bytes[length - 1] === 0x0d)) length--
  return bytes.subarray(0, length)
}

async function drawWhole(
  random: Random,
  { format, key, ids, isGood }: { format: 'Parquet' | 'Avro'; key: string; ids: number[]; isGood: boolean },
): Promise<DrawnFile> {
  const good = format === 'Parquet' ? parquetOf(ids) : await avroOf(ids)
  if (isGood) return { key, bytes: good, ids, damage: undefined }
  const damages: [string, Buffer][] = [
    ['a file that is cut', without(good, random.between(4, 20))],
    ['no file of this format', garbage],
    ['gzip that is cut', without(gzipSync(good), 6)],
  ]
  const [damage, bytes] = random.pick(damages)
  return { key, bytes, ids, damage }
}

function parquetOf(ids: number[]): Buffer {
  const columnData = [
    { name: 'id', data: ids.map(BigInt), type: 'INT64' as const },
    { name: 'name', data: ids.map(nameOf), type: 'STRING' as const },
  ]
  return Buffer.from(parquetWriteBuffer({ columnData }))
}

const avroType = avsc.Type.forSchema({
  type: 'record',
  name: 'Sample',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'name', type: 'string' },
  ],
})

function avroOf(ids: number[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const encoder = new avsc.streams.BlockEncoder(avroType, { codec: 'deflate' })
    const pieces: Buffer[] = []
    encoder.on('data', (piece: Buffer) => pieces.push(piece))
    encoder.on('end', () => resolve(Buffer.concat(pieces)))
    encoder.on('error', reject)
    for (const id of ids) encoder.write({ id, name: nameOf(id) })
    encoder.end()
  })
}
