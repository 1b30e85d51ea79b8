// Messages out of the text of Protobuf schemas, as plain plans to read bytes by. protobufjs only parses: it makes code of what it
// decodes with, and schemas come from outside.
import protobuf from 'protobufjs'
import { checkProtobufTexts } from './protobuf-text.ts'
import { SchemaFault } from './schema-fault.ts'
import type { RegisteredSchema } from './schema-registry.ts'

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
  /** What stands for an absent field. Without it, absent means null, and of a required field that the bytes are wrong. */
  absent?: unknown
  /** An absent message is an empty one. */
  isNeverAbsent?: boolean
  /** At most one field of a choice is there. */
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

/** Finds a message by its place in the schema: third message, therein the first one. Undefined when there is none. */
export type FindMessage = (path: number[]) => MessagePlan | undefined

/** Throws a SchemaFault. */
export function parseProtobufSchema({ schema, references }: RegisteredSchema): FindMessage {
  checkProtobufTexts([...references.map((reference) => reference.schema), schema])
  const root = new protobuf.Root()
  const given = new Set(references.map(({ name }) => name))
  for (const reference of references) parseFile(reference.schema, root, given)
  const own = parseFile(schema, root, given)
  try {
    root.resolveAll()
  } catch {
    throw new SchemaFault('uses a type that neither it nor what it refers to defines')
  }
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

/** The messages at the top of the file, in their order. */
function parseFile(text: string, root: protobuf.Root, given: Set<string>): protobuf.Type[] {
  try {
    const known = new Set(allMessages(root))
    const { package: name, imports = [], weakImports = [] } = protobuf.parse(text, root, { keepCase: true })
    const own = messagesIn(name === undefined ? root : root.define(name)).filter((type) => !known.has(type))
    for (const path of [...imports, ...weakImports]) if (!given.has(path)) addWellKnown(path, root, given)
    return own
  } catch {
    throw new SchemaFault('is not a Protobuf schema that can be read, or contradicts itself')
  }
}

/** Groups are fields that bring their message along: they have no place of their own. */
function messagesIn(namespace: protobuf.NamespaceBase): protobuf.Type[] {
  const isMessage = (nested: object): nested is protobuf.Type =>
    nested instanceof protobuf.Type && !(nested as { group?: boolean }).group
  return namespace.nestedArray.filter(isMessage)
}

function allMessages(root: protobuf.NamespaceBase): protobuf.Type[] {
  return root.nestedArray.flatMap((nested) => {
    if (nested instanceof protobuf.Type) return [nested]
    return nested instanceof protobuf.Namespace ? allMessages(nested) : []
  })
}

/** What everyone may import without bringing it along. Other imports bring only options, or the types that are missed later. */
function addWellKnown(path: string, root: protobuf.Root, given: Set<string>): void {
  if (!/^google\/protobuf\/[a-z_]+\.proto$/.test(path)) return
  given.add(path)
  const file = protobuf.common.get(path)
  if (file) root.addJSON(file.nested ?? {})
}

function planner(): (type: protobuf.Type) => MessagePlan {
  const plans = new Map<protobuf.Type, MessagePlan>()
  const planOf = (type: protobuf.Type): MessagePlan => {
    const known = plans.get(type)
    if (known) return known
    // Extensions stand in the message that they extend, under a name with a dot: they are not fields of it.
    const own = type.fieldsArray.filter(({ name }) => !name.startsWith('.'))
    const fields = own.map((field) => planField(field, planOf))
    const byNumber = new Map(own.map(({ id }, index) => [id, fields[index]!]))
    const plan = { name: type.fullName.replace(/^\./, ''), fields, byNumber }
    plans.set(type, plan)
    return plan
  }
  return planOf
}

function planField(field: protobuf.Field, planOf: (type: protobuf.Type) => MessagePlan): FieldPlan {
  const value = planValue(field, planOf)
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

function planValue(field: protobuf.Field, planOf: (type: protobuf.Type) => MessagePlan): ValuePlan {
  const { type, resolvedType } = field
  if (resolvedType instanceof protobuf.Enum) {
    const names = Object.entries(resolvedType.valuesById).map(([number, name]) => [Number(number), name] as const)
    return { kind: 'enum', names: new Map(names) }
  }
  if (resolvedType instanceof protobuf.Type) {
    const name = resolvedType.fullName.replace(/^\./, '')
    return { kind: 'message', name, isGroup: field.delimited, plan: () => planOf(resolvedType) }
  }
  if (!isScalar(type)) throw new SchemaFault('uses a type that neither it nor what it refers to defines')
  return { kind: 'scalar', scalar: type }
}

/** A field without presence has the zero of its type when it is absent; one with presence only what the schema says. */
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
