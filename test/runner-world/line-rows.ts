// Rows that are lines of text. A line with BAD is rejected by the engine, one with UNREADABLE cannot be decoded, and an object with
// BROKEN cannot be read from there on.
import { Readable } from 'node:stream'
import type { EncoderParts, ObjectEncoder, RecordEncoder } from '../../src/formats/encode/encoder.ts'
import type { Rows } from '../../src/formats/encode/rows.ts'
import type { Encoders } from '../../src/runner/session.ts'
import { ProbeFailure } from '../../src/source-shapes/source-failure.ts'

interface Line {
  partition: string
  text: string
  /** Offset in its object. */
  atByte?: number
}

const shape: Rows['shape'] = {
  format: 'TabSeparated',
  fields: [{ name: 'line', type: 'String' }],
  columns: [{ column: 'line', field: 'line' }],
}

export function lineRows(lines: Line[], { isDivisible = true } = {}): Rows {
  const isReadable = ({ text }: Line): boolean => !text.includes('UNREADABLE')
  return {
    shape,
    count: isDivisible ? lines.length : 1,
    readBytes: lines.reduce((sum, { text }) => sum + text.length + 1, 0),
    undecodable: lines.flatMap((line, index) => (isReadable(line) ? [] : [{ index, reason: 'unreadable' }])),
    isDivisible,
    body: () => lines.filter(isReadable).map(({ text }) => Buffer.from(`${text}\n`)),
    only(begin, end) {
      if (!isDivisible) throw new Error('cannot be divided')
      return lineRows(lines.slice(begin, end))
    },
    without(refused) {
      if (!isDivisible) throw new Error('cannot be divided')
      return lineRows(lines.filter((_, index) => !refused.has(index)))
    },
    keep: (index) => ({
      partition: lines[index]!.partition,
      position: lines[index]!.atByte === undefined ? `line ${index}` : `byte ${lines[index]!.atByte}`,
      raw: Buffer.from(lines[index]!.text),
      meta: '',
    }),
  }
}

const linesOf = new WeakMap<Rows, Line[]>()

function remember(lines: Line[]): Rows {
  const rows = lineRows(lines)
  linesOf.set(rows, lines)
  return rows
}

function join(parts: Rows[]): Rows {
  return remember(parts.flatMap((rows) => linesOf.get(rows) ?? []))
}

export interface LineEncodersOptions {
  /** Objects are cut after the first line that ends at or after this many bytes; each encoder uses the next value. */
  pieceBytes: number[]
  isDivisible?: boolean
}

/** Record and object encoders for lines. */
export function lineEncoders({ pieceBytes: sizes, isDivisible = true }: LineEncodersOptions): Encoders {
  let made = 0
  const makeRecordEncoder = (_parts: EncoderParts): RecordEncoder => ({
    encode: async (partition, records) =>
      remember([...records].map(({ value }) => ({ partition, text: Buffer.from(value).toString() }))),
    join,
    close: async () => undefined,
  })
  const makeObjectEncoder = (_parts: EncoderParts): ObjectEncoder => objectEncoder(sizes[made++ % sizes.length] ?? 10)
  const objectEncoder = (pieceBytes: number): ObjectEncoder => ({
    async *pieces(object, { partition, beginByte, signal }) {
      if (!isDivisible) {
        yield { beginByte: 0, endByte: null, rows: wholeRows(object, partition, signal) }
        return
      }
      const text = await textOf(object, signal)
      let begin = beginByte
      while (begin < text.length) {
        const isLast = begin + pieceBytes >= text.length
        const end = isLast ? text.length : text.indexOf('\n', begin + pieceBytes - 1) + 1
        const endByte = end === text.length ? null : end
        yield { beginByte: begin, endByte, rows: cut(text, begin, end, partition) }
        begin = end
      }
    },
    async piece(object, { partition, beginByte, endByte, signal }) {
      if (!isDivisible) return wholeRows(object, partition, signal)
      const text = await textOf(object, signal)
      return cut(text, beginByte, endByte ?? text.length, partition)
    },
    join: (parts) => (isDivisible ? join(parts) : undefined),
  })
  const cut = (text: string, begin: number, end: number, partition: string): Rows => {
    const piece = text.slice(begin, end)
    assertWhole(piece)
    const lines = piece.split('\n').slice(0, -1)
    let atByte = begin
    return remember(
      lines.map((line) => {
        const at = atByte
        atByte += line.length + 1
        return { partition, text: line, atByte: at }
      }),
    )
  }
  return { makeRecordEncoder, makeObjectEncoder }
}

/** As with Parquet: the object is opened each time it is sent. */
function wholeRows(object: ObjectToEncode, partition: string, signal: AbortSignal): Rows {
  return {
    ...lineRows([{ partition, text: object.key }], { isDivisible: false }),
    readBytes: object.sizeBytes,
    body: () =>
      Readable.from(
        (async function* () {
          for await (const chunk of await object.open(signal)) {
            assertWhole(Buffer.from(chunk as Uint8Array).toString())
            yield chunk
          }
        })(),
      ),
  }
}

function assertWhole(text: string): void {
  if (!text.includes('BROKEN')) return
  const reason = 'the object cannot be read: it is broken'
  throw new ProbeFailure({ step: 'decode', code: 'undecodable', reason, remedy: 'take it away' })
}

type ObjectToEncode = Parameters<ObjectEncoder['piece']>[0]

async function textOf(object: ObjectToEncode, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await object.open(signal)) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks).toString()
}
