// Which types of the engine hold what an Avro schema declares. A record within a record and a choice of several types are
// declared as String: the engine gets them as JSON text.

import type { SourceField } from '../source.ts'
import type { AvroLogical, AvroNode, AvroRecord } from './avro-schema.ts'
import { nullable } from './declared-fields.ts'

export function fieldsOfAvro(record: AvroRecord): SourceField[] {
  return record.fields.map(({ name, node }) => ({ name, type: typeOf(node), isOptional: mayBeNull(node) }))
}

const plainTypes = {
  null: 'Nullable(String)',
  boolean: 'Bool',
  int: 'Int32',
  long: 'Int64',
  float: 'Float32',
  double: 'Float64',
  bytes: 'String',
  string: 'String',
  fixed: 'String',
  enum: 'String',
  record: 'String',
} as const

function typeOf(node: AvroNode): string {
  switch (node.kind) {
    case 'array':
      return `Array(${typeOf(node.items)})`
    case 'map':
      return `Map(String, ${typeOf(node.values)})`
    case 'union':
      return typeOfUnion(node.branches)
    case 'enum':
    case 'record':
      return plainTypes[node.kind]
    default:
      return node.logical ? typeOfLogical(node.logical) : plainTypes[node.kind]
  }
}

function typeOfLogical(logical: AvroLogical): string {
  switch (logical.type) {
    case 'date':
      return 'Date32'
    case 'uuid':
      return 'UUID'
    case 'time':
      return 'String'
    case 'moment':
      return logical.isLocal ? `DateTime64(${logical.digits})` : `DateTime64(${logical.digits}, 'UTC')`
    case 'decimal':
      return `Decimal(${logical.precision}, ${logical.scale})`
  }
}

function typeOfUnion(branches: AvroNode[]): string {
  const [only, ...others] = branches.filter(({ kind }) => kind !== 'null')
  const type = only === undefined || others.length > 0 ? 'String' : typeOf(only)
  return branches.some(mayBeNull) ? nullable(type) : type
}

function mayBeNull(node: AvroNode): boolean {
  return node.kind === 'null' || (node.kind === 'union' && node.branches.some(({ kind }) => kind === 'null'))
}
