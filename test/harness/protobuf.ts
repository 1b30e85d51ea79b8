// Messages that protobufjs writes, whose encoder shares no code with the decoder.
import assert from 'node:assert/strict'
import protobuf from 'protobufjs'
import type { Decoded } from '../../src/formats/decode/decoding.ts'
import { decodeConfluentProtobuf } from '../../src/formats/decode/protobuf-rows.ts'
import type { SchemaRegistry } from '../../src/formats/decode/registered-schema.ts'
import { Undecodable } from '../../src/formats/undecodable.ts'

export interface Written {
  schema: string
  /** By import path. */
  references?: Record<string, string>
}

export function registryOf(...schemas: (Written | string)[]): SchemaRegistry {
  return {
    async loadSchema(id) {
      const written = schemas[id - 1]!
      const { schema, references = {} } = typeof written === 'string' ? { schema: written } : written
      const loaded = Object.entries(references).map(([name, text]) => ({
        name,
        subject: name,
        version: 1,
        schema: text,
      }))
      return { type: 'PROTOBUF', schema, references: loaded }
    },
  }
}

export function framed(id: number, body: Uint8Array, path: number[] = [0]): Uint8Array {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(id, 1)
  const isFirst = path.length === 1 && path[0] === 0
  return Buffer.concat([
    header,
    Buffer.from(isFirst ? [0] : [path.length * 2, ...path.map((index) => index * 2)]),
    body,
  ])
}

export function encode({ schema, references = {} }: Written, message: string, value: object): Uint8Array {
  const root = new protobuf.Root()
  for (const text of [...Object.values(references), schema]) protobuf.parse(text, root, { keepCase: true })
  for (const path of schema.matchAll(/import "(google[^"]*)"/g)) root.addJSON(protobuf.common.get(path[1]!)!.nested!)
  const type = root.lookupType(message)
  return type.encode(type.fromObject(value)).finish()
}

/** Decodes a message with the name Message. */
export async function roundTrip(schema: string, value: object): Promise<Decoded> {
  return decodeConfluentProtobuf([framed(1, encode({ schema }, 'Message', value))], registryOf(schema))
}

export async function undecodable(work: () => Promise<Decoded>): Promise<string> {
  const error = await work().then(
    () => assert.fail('was decoded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Undecodable, String((error as Error).stack))
  return error.reason
}

export const proto3 = (fields: string) => `syntax = "proto3"; message Message { ${fields} }`
export const types = ({ fields }: Decoded) => Object.fromEntries(fields!.map(({ name, type }) => [name, type]))
export const optional = ({ fields }: Decoded) => fields!.filter(({ isOptional }) => isOptional).map(({ name }) => name)
