// Decodes Protobuf messages with a schema in a registry. An index path before the message selects its type in the schema.

import type { ByteReader } from './byte-reader.ts'
import { Misfit } from './byte-reader.ts'
import { type BodyReader, type ConfluentFormat, decodeConfluent } from './confluent-records.ts'
import type { Decoded } from './decoding.ts'
import { parseProtobufSchema } from './protobuf-schema.ts'
import { fieldsOfMessage } from './protobuf-types.ts'
import { readProtobufRow } from './protobuf-values.ts'
import type { SchemaRegistry } from './registered-schema.ts'

export const confluentProtobuf: ConfluentFormat = {
  name: 'Protobuf',
  type: 'PROTOBUF',
  compile(schema, id) {
    const find = parseProtobufSchema(schema)
    const bodies = new Map<string, BodyReader>()
    return (reader) => {
      const path = readMessagePath(reader)
      const known = bodies.get(path.join())
      if (known) return known
      const plan = find(path)
      if (!plan) throw new Misfit('it names a message that the schema does not have')
      const body: BodyReader = {
        title: `the message ${plan.name} of schema ${id}`,
        fields: fieldsOfMessage(plan),
        read: (rest, budget) => readProtobufRow(plan, rest.bytes(rest.left), budget),
      }
      bodies.set(path.join(), body)
      return body
    }
  },
}

export function decodeConfluentProtobuf(records: Uint8Array[], registry: SchemaRegistry | undefined): Promise<Decoded> {
  return decodeConfluent(confluentProtobuf, records, registry)
}

const deepestMessage = 32

/** Index path of the message type: a count, then indexes, each within the type before. A count of zero is the first message. */
function readMessagePath(reader: ByteReader): number[] {
  const count = Number(reader.zigzag())
  if (count < 0 || count > deepestMessage) throw new Misfit('it names a message in a way that cannot be')
  return count === 0 ? [0] : Array.from({ length: count }, () => Number(reader.zigzag()))
}
