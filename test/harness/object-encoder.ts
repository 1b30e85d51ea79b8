// Objects of tests, and the rows that the encoder makes of them.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EncoderParts } from '../../src/formats/encode/encoder.ts'
import { makeObjectEncoder } from '../../src/formats/encode/object-encoder.ts'
import type { ObjectToEncode } from '../../src/formats/encode/object-format.ts'
import type { Rows } from '../../src/formats/encode/rows.ts'
import { DirectBody } from '../../src/sources/direct/direct-body.ts'
import type { DirectConnection } from '../../src/sources/direct/direct-connection.ts'

export const { signal } = new AbortController()

export interface Pipe {
  format: string
  compression?: string
  delimiter?: string
  /** `name type` */
  columns?: string[]
  /** Destination field to source field. */
  mappings?: Record<string, string>
}

export function partsOf({ columns = ['a Int64'], mappings = {}, compression = 'auto', ...source }: Pipe): EncoderParts {
  return {
    kind: 'objectStorage',
    source: { ...source, compression },
    destination: {
      columns: columns.map((column) => {
        const [name = '', ...type] = column.split(' ')
        return { name, type: type.join(' ') }
      }),
    },
    fieldMappings: Object.entries(mappings).map(([destinationField, sourceField]) => ({
      destinationField,
      sourceField,
    })),
    openRegistry: () => undefined,
  }
}

interface TestObject extends ObjectToEncode {
  /** Streams that were opened. */
  opened: Readable[]
}

/** With `chunkBytes` 0, the body is read straight into the memory of the feed. */
export function objectOf(content: string | Buffer, { key = 'in/a', chunkBytes = 5 } = {}): TestObject {
  const bytes = Buffer.from(content)
  const opened: Readable[] = []
  return {
    key,
    sizeBytes: bytes.length,
    modifiedAt: new Date(Date.UTC(2026, 0, 31)),
    opened,
    async open() {
      const chunks: Buffer[] = []
      for (let at = 0; chunkBytes > 0 && at < bytes.length; at += chunkBytes)
        chunks.push(bytes.subarray(at, at + chunkBytes))
      opened.push(chunkBytes === 0 ? directBodyOf(bytes) : Readable.from(chunks))
      return opened.at(-1)!
    },
  }
}

function directBodyOf(bytes: Buffer): DirectBody {
  let at = 0
  const fill = async (target: Uint8Array): Promise<void> => {
    await nextTurn()
    target.set(bytes.subarray(at, at + target.length))
    at += target.length
  }
  const connection = { fill, close: () => undefined } as Partial<DirectConnection> as DirectConnection
  return new DirectBody(connection, bytes.length, () => undefined)
}

export interface Piece {
  beginByte: number
  endByte: number | null
  rows: Rows
}

export async function piecesOf(
  pipe: Pipe,
  object: ObjectToEncode,
  pieceBytes: number | (() => number) = 1e6,
  beginByte = 0,
): Promise<Piece[]> {
  const encoder = makeObjectEncoder(partsOf(pipe))
  const pieces: Piece[] = []
  const size = typeof pieceBytes === 'number' ? () => pieceBytes : pieceBytes
  for await (const piece of encoder.pieces(object, { partition: 'objects', beginByte, pieceBytes: size, signal }))
    pieces.push(piece)
  return pieces
}

export async function rowsOf(pipe: Pipe, content: string | Buffer, key = 'in/a'): Promise<Rows> {
  const [piece, ...others] = await piecesOf(pipe, objectOf(content, { key, chunkBytes: 1000 }))
  assert.ok(piece && others.length === 0)
  return piece.rows
}

export const keptTexts = (rows: Rows): string[] =>
  Array.from({ length: rows.count }, (_, index) => String(rows.keep(index).raw))

export async function textOf(rows: Rows): Promise<string> {
  const body = rows.body()
  return String(
    Symbol.iterator in body ? Buffer.concat(Array.from(body, (chunk) => Buffer.from(chunk))) : await buffer(body),
  )
}
