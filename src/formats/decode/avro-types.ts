// Maps Avro types to types of the engine. In records of a stream, nested records and unions of several types become String: they
// are inserted as JSON text. In files, which the engine reads, they have other types.

import type { SourceField } from '../../source-shapes/probe.ts'
import type { AvroLogical, AvroNode, AvroRecord } from './avro-schema.ts'
import { nullable } from './declared-fields.ts'
import { isUnreadable, unreadable } from './whole-file-fit.ts'

export function fieldsOfAvro(record: AvroRecord, typeOf = makeTypes(asText)): SourceField[] {
  return record.fields.map(({ name, node }) => ({ name, type: typeOf(node), isOptional: mayBeNull(node) }))
}

/** For a file that the engine reads. */
export function fieldsOfAvroFile(record: AvroRecord): SourceField[] {
  return fieldsOfAvro(record, makeTypes(asRead))
}

type TypeOf = (node: AvroNode) => string

/** Mapping of Avro types without a direct equivalent. */
interface NestedTypes {
  ofRecord(record: AvroRecord, typeOf: TypeOf): string
  /** For a union of several types other than null. */
  ofChoice(types: string[]): string
}

const asText: NestedTypes = { ofRecord: () => 'String', ofChoice: () => 'String' }

/** A short schema can describe an extremely long type. */
const maxTypeLength = 4096

const asRead: NestedTypes = {
  ofRecord(record, typeOf) {
    const types = record.fields.map(({ node }) => typeOf(node))
    const type = `Tuple(${record.fields.map(({ name }, index) => `${quotedName(name)} ${types[index]}`).join(', ')})`
    return type.length > maxTypeLength || types.some(isUnreadable) ? unreadable : type
  },
  ofChoice(types) {
    const kinds = types.map(kindOf)
    return new Set(kinds).size < kinds.length || types.some(isUnreadable) ? unreadable : `Variant(${types.join(', ')})`
  },
}

/** A Variant of the engine must not have similar types. */
function kindOf(type: string): string {
  if (/^(?:Int|Float|Decimal|Bool)/.test(type)) return 'number'
  return /^[A-Z][a-z]+/.exec(type)?.[0] ?? type
}

function quotedName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``
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
} as const

function makeTypes({ ofRecord, ofChoice }: NestedTypes): TypeOf {
  const known = new Map<AvroRecord, string>()
  const typeOfRecord = (record: AvroRecord): string => {
    const type = known.get(record)
    if (type !== undefined) return type
    // In case the record contains itself.
    known.set(record, unreadable)
    known.set(record, ofRecord(record, typeOf))
    return typeOfRecord(record)
  }
  const typeOfUnion = (branches: AvroNode[]): string => {
    const types = branches.filter(({ kind }) => kind !== 'null').map(typeOf)
    const [only = 'String', ...others] = types
    const type = others.length > 0 ? ofChoice(types) : only
    return branches.some(mayBeNull) ? nullable(type) : type
  }
  const typeOf: TypeOf = (node) => {
    switch (node.kind) {
      case 'array':
        return `Array(${typeOf(node.items)})`
      case 'map':
        return `Map(String, ${typeOf(node.values)})`
      case 'union':
        return typeOfUnion(node.branches)
      case 'enum':
        return plainTypes[node.kind]
      case 'record':
        return typeOfRecord(node)
      default:
        return node.logical ? typeOfLogical(node.logical) : plainTypes[node.kind]
    }
  }
  return typeOf
}

function typeOfLogical(logical: AvroLogical): string {
  switch (logical.type) {
    case 'date':
      return 'Date32'
    case 'uuid':
      return 'UUID'
    case 'time':
      return 'String'
    case 'timestamp':
      return logical.isLocal ? `DateTime64(${logical.digits})` : `DateTime64(${logical.digits}, 'UTC')`
    case 'decimal':
      return `Decimal(${logical.precision}, ${logical.scale})`
  }
}

function mayBeNull(node: AvroNode): boolean {
  return node.kind === 'null' || (node.kind === 'union' && node.branches.some(({ kind }) => kind === 'null'))
}
