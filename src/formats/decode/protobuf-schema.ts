// Converts Protobuf schemas to plans for decoding messages. protobufjs is used only for parsing: its decoder generates code, and
// schemas are untrusted.
import protobuf from 'protobufjs'
import { linkTypes } from './protobuf-links.ts'
import { type PrunedText, pruneProtobufTexts } from './protobuf-text.ts'
import { unreadable } from './protobuf-tokens.ts'
import type { RegisteredSchema } from './registered-schema.ts'
import { SchemaFault } from './schema-fault.ts'

export interface MessagePlan {
  /** With its package: `shop.Order`. */
  name: string
  fields: FieldPlan[]
  byNumber: Map<number, FieldPlan>
}

export interface FieldPlan {
  name: string
  value: ValuePlan
  /** A map is a list of entries: messages with the fields `key` and `value`. */
  map?: { key: Scalar; entry: MessagePlan }
  isRepeated: boolean
  isRequired: boolean
  /** Value of an absent field. Default: null, or an error for a required field. */
  absent?: unknown
  /** An absent message is empty, not null. */
  isNeverAbsent?: boolean
  /** The oneof of the field: at most one of its fields is set. */
  choice?: object
}

export type ValuePlan =
  | { kind: 'scalar'; scalar: Scalar }
  | { kind: 'enum'; names: Map<number, string> }
  | { kind: 'message'; name: string; isGroup: boolean; plan: () => MessagePlan }

const scalars = [
  'double',
  'float',
  'int32',
  'uint32',
  'sint32',
  'fixed32',
  'sfixed32',
  'int64',
  'uint64',
  'sint64',
  'fixed64',
  'sfixed64',
  'bool',
  'string',
  'bytes',
] as const
export type Scalar = (typeof scalars)[number]

const isScalar = (type: string): type is Scalar => scalars.includes(type as Scalar)

/** Finds a message by its index path in the schema. Undefined when it does not exist. */
export type FindMessage = (path: number[]) => MessagePlan | undefined

/** Throws a SchemaFault. */
export function parseProtobufSchema({ schema, references }: RegisteredSchema): FindMessage {
  const root = new protobuf.Root()
  const given = new Set(references.map(({ name }) => name))
  let own: protobuf.Type[] = []
  const texts = pruneProtobufTexts([...references.map((reference) => reference.schema), schema])
  for (const text of texts) own = parseFile(text, root, given)
  linkTypes(root)
  const planOf = planner()
  return (path) => {
    let [type, messages]: [protobuf.Type | undefined, protobuf.Type[]] = [undefined, own]
    for (const index of path) {
      type = messages[index]
      if (!type) return undefined
      messages = messagesIn(type)
    }
    return type && planOf(type)
  }
}

/** The top-level messages of the file, in order. */
function parseFile({ text, packageName, names }: PrunedText, root: protobuf.Root, given: Set<string>): protobuf.Type[] {
  try {
    const namespace = packageName === '' ? root : root.define(packageName)
    // protobufjs would merge a message with a package of the same name, element by element.
    if (names.some((name) => namespace.get(name))) throw unreadable()
    const { imports = [], weakImports = [] } = protobuf.parse(text, root, { keepCase: true })
    for (const path of [...imports, ...weakImports]) if (!given.has(path)) addWellKnown(path, root, given)
    return names.map((name) => namespace.get(name)).filter((type) => type instanceof protobuf.Type)
  } catch {
    throw unreadable()
  }
}

/** Groups are excluded: their messages have no index. */
function messagesIn(namespace: protobuf.NamespaceBase): protobuf.Type[] {
  const isMessage = (nested: object): nested is protobuf.Type =>
    nested instanceof protobuf.Type && !(nested as { group?: boolean }).group
  return namespace.nestedArray.filter(isMessage)
}

/** Adds a file of google/protobuf. Other missing imports have only options, or types whose absence is detected later. */
function addWellKnown(path: string, root: protobuf.Root, given: Set<string>): void {
  if (!/^google\/protobuf\/[a-z_]+\.proto$/.test(path)) return
  given.add(path)
  const file = protobuf.common.get(path)
  if (file) root.addJSON(file.nested ?? {})
}

type PlanOf = (type: protobuf.Type) => MessagePlan
type NamesOf = (type: protobuf.Enum) => Map<number, string>

function planner(): PlanOf {
  const plans = new Map<protobuf.Type, MessagePlan>()
  const namesOf = enumNames()
  const planOf: PlanOf = (type) => {
    const known = plans.get(type)
    if (known) return known
    const fields = type.fieldsArray.map((field) => planField(field, planOf, namesOf))
    const byNumber = new Map(type.fieldsArray.map(({ id }, index) => [id, fields[index]!]))
    const plan = { name: type.fullName.replace(/^\./, ''), fields, byNumber }
    plans.set(type, plan)
    return plan
  }
  return planOf
}

/** Cached, because many fields may use the same large enum. */
function enumNames(): NamesOf {
  const known = new Map<protobuf.Enum, Map<number, string>>()
  return (type) => {
    const names =
      known.get(type) ?? new Map(Object.entries(type.valuesById).map(([number, name]) => [Number(number), name]))
    known.set(type, names)
    return names
  }
}

function planField(field: protobuf.Field, planOf: PlanOf, namesOf: NamesOf): FieldPlan {
  const value = planValue(field, planOf, namesOf)
  const absent = absentValue(field, value)
  return {
    name: field.protoName ?? field.name,
    value,
    isRepeated: field.repeated,
    isRequired: field.required,
    ...(field instanceof protobuf.MapField ? { map: planMap(field.keyType, value) } : {}),
    ...(field.partOf ? { choice: field.partOf } : {}),
    ...(absent === undefined ? {} : { absent }),
  }
}

function planMap(key: string, value: ValuePlan): { key: Scalar; entry: MessagePlan } {
  if (!isScalar(key)) throw new SchemaFault('has a map with keys that cannot be')
  const single = { isRepeated: false, isRequired: false }
  const fields: FieldPlan[] = [
    { ...single, name: 'key', value: { kind: 'scalar', scalar: key }, absent: zeroOf(key) },
    { ...single, name: 'value', value, absent: zeroOfValue(value), isNeverAbsent: true },
  ]
  return { key, entry: { name: 'entry', fields, byNumber: new Map(fields.map((field, index) => [index + 1, field])) } }
}

function planValue(field: protobuf.Field, planOf: PlanOf, namesOf: NamesOf): ValuePlan {
  const { type, resolvedType } = field
  if (resolvedType instanceof protobuf.Enum) return { kind: 'enum', names: namesOf(resolvedType) }
  if (resolvedType instanceof protobuf.Type) {
    const name = resolvedType.fullName.replace(/^\./, '')
    return { kind: 'message', name, isGroup: field.delimited, plan: () => planOf(resolvedType) }
  }
  if (!isScalar(type)) throw new SchemaFault('uses a type that neither it nor what it refers to defines')
  return { kind: 'scalar', scalar: type }
}

/** Without presence, an absent field has the zero value of its type; with presence, only a declared default. */
function absentValue(field: protobuf.Field, value: ValuePlan): unknown {
  if (field.map) return {}
  if (field.repeated) return []
  const declared: unknown = field.options?.default
  if (declared !== undefined && value.kind === 'enum') return String(declared)
  if (declared !== undefined && value.kind === 'scalar') return declaredDefault(value.scalar, declared)
  return field.hasPresence ? undefined : zeroOfValue(value)
}

function zeroOfValue(value: ValuePlan): unknown {
  if (value.kind === 'message') return undefined
  return value.kind === 'enum' ? (value.names.get(0) ?? '0') : zeroOf(value.scalar)
}

function zeroOf(scalar: Scalar): unknown {
  if (scalar === 'string') return ''
  if (scalar === 'bytes') return new Uint8Array()
  return scalar === 'bool' ? false : 0
}

function declaredDefault(scalar: Scalar, declared: unknown): unknown {
  if (scalar === 'bytes') return new Uint8Array(Buffer.from(String(declared), 'latin1'))
  return scalar === 'string' ? String(declared) : declared
}
