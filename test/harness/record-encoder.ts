// Records of tests, and the rows that the encoder makes of them.
import assert from 'node:assert/strict'
import type { EncoderParts } from '../../src/formats/encode/encoder.ts'
import { makeRecordEncoder } from '../../src/formats/encode/record-encoder.ts'
import type { SourceRecord } from '../../src/formats/encode/record-list.ts'
import type { Rows } from '../../src/formats/encode/rows.ts'
import type { Row } from '../../src/source-shapes/probe.ts'
import { makeSchemaRegistry } from '../../src/sources/schema-registry/schema-registry.ts'
import { loopbackEgress } from '../sources/conformance.ts'

export const { signal } = new AbortController()

export interface Pipe {
  kind?: 'kafka' | 'kinesis'
  format?: string
  /** `name type` */
  columns: string[]
  /** Destination field to source field. */
  mappings?: Record<string, string>
  registryUrl?: string
}

export function partsOf({
  kind = 'kafka',
  format = 'JSONEachRow',
  columns,
  mappings = {},
  registryUrl,
}: Pipe): EncoderParts {
  return {
    kind,
    source: { format, ...(registryUrl && { schemaRegistry: { url: registryUrl } }) },
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
    openRegistry: (signal) =>
      registryUrl === undefined
        ? undefined
        : makeSchemaRegistry(
            { url: registryUrl },
            { egress: loopbackEgress, signal, caCertificates: undefined, allowPlaintext: true },
          ),
  }
}

export const metaOf = (offset: number): Row => ({
  _topic: 'orders',
  _partition: 3,
  _offset: offset,
  _timestamp: new Date(Date.UTC(2026, 0, 31, 12, 0, 0, 7)),
  _key: Buffer.from([0x6b, 0xff, 0x22]),
  _headers: { trace: ['a'], retry: ['1', '2'] },
})

export function recordsOf(values: (string | Uint8Array)[]): SourceRecord[] {
  return values.map((value, index) => ({ value: Buffer.from(value), meta: metaOf(index) }))
}

export async function encode(pipe: Pipe, values: (string | Uint8Array)[]): Promise<Rows> {
  const encoder = makeRecordEncoder(partsOf(pipe))
  try {
    return await encoder.encode('orders 3', recordsOf(values), signal)
  } finally {
    await encoder.close()
  }
}

export function bodyOf(rows: Rows): Buffer {
  const body = rows.body()
  assert.ok(Symbol.iterator in body)
  return Buffer.concat(Array.from(body, (chunk) => Buffer.from(chunk)))
}

export const textOf = (rows: Rows): string => bodyOf(rows).toString('utf8')
export const objectsOf = (rows: Rows): unknown[] =>
  textOf(rows)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
