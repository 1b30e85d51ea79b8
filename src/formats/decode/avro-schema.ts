// Parser for Avro schemas. Schemas are untrusted: too deep, infinite or contradictory ones are rejected, and no code is generated
// from their names.

import { isObject } from '../../lib/merge-patch.ts'
import { quote } from '../../lib/shape-rules.ts'
import type { SecondDigits } from '../timestamps.ts'
import { SchemaFault } from './schema-fault.ts'

export type AvroNode =
  | { kind: 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string'; logical?: AvroLogical }
  | { kind: 'fixed'; sizeBytes: number; logical?: AvroLogical }
  | { kind: 'enum'; symbols: string[] }
  | { kind: 'array'; items: AvroNode }
  | { kind: 'map'; values: AvroNode }
  | { kind: 'union'; branches: AvroNode[] }
  | AvroRecord

export interface AvroRecord {
  kind: 'record'
  name: string
  fields: { name: string; node: AvroNode }[]
}

export type AvroLogical =
  | { type: 'date' | 'uuid' }
  | { type: 'time'; digits: SecondDigits }
  | { type: 'timestamp'; digits: SecondDigits; isLocal: boolean }
  | { type: 'decimal'; precision: number; scale: number }

/** `engine`: only those that the engine supports in files; it reads others as their base type. */
export type LogicalTypes = 'all' | 'engine'

const primitives = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const
type Primitive = (typeof primitives)[number]

const isPrimitive = (type: unknown): type is Primitive => primitives.includes(type as Primitive)

const deepest = 64

interface Scope {
  /** By full name, including referenced schemas. */
  named: Map<string, AvroNode>
  namespace: string
  depth: number
  logicalTypes: LogicalTypes
}

/** Parses a schema that is a record. `referenced`: schemas that it uses, each after its own references. */
export function parseAvroSchema(
  text: string,
  referenced: string[] = [],
  logicalTypes: LogicalTypes = 'all',
): AvroRecord {
  const scope: Scope = { named: new Map(), namespace: '', depth: 0, logicalTypes }
  for (const other of referenced) parseText(other, scope)
  const node = parseText(text, scope)
  if (node.kind !== 'record') throw new SchemaFault('is not a record, and so has no fields')
  return node
}

function parseText(text: string, scope: Scope): AvroNode {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new SchemaFault('is not JSON')
  }
  return parseNode(json, scope)
}

function parseNode(json: unknown, outer: Scope): AvroNode {
  const scope = { ...outer, depth: outer.depth + 1 }
  if (scope.depth > deepest) throw new SchemaFault(`is nested deeper than ${deepest} levels`)
  if (Array.isArray(json)) return { kind: 'union', branches: json.map((branch) => parseNode(branch, scope)) }
  if (typeof json === 'string') return isPrimitive(json) ? { kind: json } : resolveName(json, scope)
  if (!isObject(json)) throw new SchemaFault('has a type that is neither a name nor an object')
  const { type } = json
  switch (type) {
    case 'record':
    case 'error':
      return parseRecord(json, scope)
    case 'enum':
      return define(json, scope, { kind: 'enum', symbols: namesIn(json.symbols, 'an enum') })
    case 'fixed':
      return parseFixed(json, scope)
    case 'array':
      return { kind: 'array', items: parseNode(json.items, scope) }
    case 'map':
      return { kind: 'map', values: parseNode(json.values, scope) }
    default:
      return isPrimitive(type) ? withLogical({ kind: type }, logicalOf(json, type), scope) : parseNode(type, scope)
  }
}

function parseRecord(json: Record<string, unknown>, scope: Scope): AvroNode {
  const record: AvroRecord = { kind: 'record', name: '', fields: [] }
  // Defined before its fields, which may refer to it.
  const { namespace } = fullNameOf(json, scope)
  define(json, scope, record)
  if (!Array.isArray(json.fields)) throw new SchemaFault(`has the record ${quote(record.name)} without fields`)
  const seen = new Set<string>()
  for (const field of json.fields as unknown[]) {
    if (!isObject(field) || typeof field.name !== 'string' || field.name === '') {
      throw new SchemaFault(`has a field without a name in the record ${quote(record.name)}`)
    }
    const { name } = field
    if (seen.has(name)) throw new SchemaFault(`has the field ${quote(name)} twice in the record ${quote(record.name)}`)
    seen.add(name)
    record.fields.push({ name, node: parseNode(field.type, { ...scope, namespace }) })
  }
  return record
}

const largestFixedBytes = 1024 * 1024

function parseFixed(json: Record<string, unknown>, scope: Scope): AvroNode {
  const { size } = json
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 0 || size > largestFixedBytes) {
    throw new SchemaFault('has a fixed type without a size that is possible')
  }
  const fixed = withLogical({ kind: 'fixed', sizeBytes: size } as const, logicalOf(json, 'fixed', size), scope)
  return define(json, scope, fixed)
}

function withLogical<Node extends AvroNode>(
  node: Node,
  logical: AvroLogical | undefined,
  { logicalTypes }: Scope,
): Node {
  const isForeign = logical?.type === 'time' || (logical?.type === 'uuid' && node.kind === 'fixed')
  return !logical || (isForeign && logicalTypes === 'engine') ? node : { ...node, logical }
}

/** By the specification, a logical type that is invalid for its type is ignored. */
function logicalOf(
  json: Record<string, unknown>,
  kind: Primitive | 'fixed',
  sizeBytes?: number,
): AvroLogical | undefined {
  const { logicalType } = json
  if (typeof logicalType !== 'string') return undefined
  if (logicalType === 'date') return kind === 'int' ? { type: 'date' } : undefined
  if (logicalType === 'uuid') return kind === 'string' || sizeBytes === 16 ? { type: 'uuid' } : undefined
  if (logicalType === 'decimal') return kind === 'bytes' || kind === 'fixed' ? decimalOf(json) : undefined
  const [, isLocal, what, unit] = /^(local-)?(timestamp|time)-(millis|micros|nanos)$/.exec(logicalType) ?? []
  if (what === undefined) return undefined
  const digits = { millis: 3, micros: 6, nanos: 9 }[unit!] as SecondDigits
  if (what === 'timestamp')
    return kind === 'long' ? { type: 'timestamp', digits, isLocal: isLocal !== undefined } : undefined
  return isLocal === undefined && kind === (digits === 3 ? 'int' : 'long') ? { type: 'time', digits } : undefined
}

/** Limit of the engine's Decimal. */
const mostDigits = 76

function decimalOf({ precision, scale = 0 }: Record<string, unknown>): AvroLogical | undefined {
  if (!Number.isInteger(precision) || !Number.isInteger(scale)) return undefined
  const [digits, behind] = [Number(precision), Number(scale)]
  if (digits < 1 || digits > mostDigits || behind < 0 || behind > digits) return undefined
  return { type: 'decimal', precision: digits, scale: behind }
}

function namesIn(list: unknown, where: string): string[] {
  if (!Array.isArray(list) || list.some((name) => typeof name !== 'string')) {
    throw new SchemaFault(`has ${where} without a list of names`)
  }
  return list as string[]
}

function fullNameOf(json: Record<string, unknown>, scope: Scope): { name: string; namespace: string } {
  const { name } = json
  if (typeof name !== 'string' || name === '') throw new SchemaFault('has a record, enum or fixed type without a name')
  const dot = name.lastIndexOf('.')
  if (dot >= 0) return { name, namespace: name.slice(0, dot) }
  const namespace = typeof json.namespace === 'string' ? json.namespace : scope.namespace
  return { name: namespace === '' ? name : `${namespace}.${name}`, namespace }
}

function define<Node extends AvroNode>(json: Record<string, unknown>, scope: Scope, node: Node): Node {
  const { name } = fullNameOf(json, scope)
  if (scope.named.has(name)) throw new SchemaFault(`defines ${quote(name)} twice`)
  scope.named.set(name, node)
  if (node.kind === 'record') node.name = name
  return node
}

function resolveName(name: string, { named, namespace }: Scope): AvroNode {
  const node =
    (namespace === '' || name.includes('.') ? undefined : named.get(`${namespace}.${name}`)) ?? named.get(name)
  if (!node) throw new SchemaFault(`uses the type ${quote(name)}, which neither it nor what it refers to defines`)
  return node
}
