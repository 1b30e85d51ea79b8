// Generates the rules of the fields of a pipe for forms: bounds, defaults and choices, which the types of the client do not have.
import type { Rules } from '../../src/lib/shape-rules.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'

type Described = Rules & { default?: unknown; items?: Described; properties?: Record<string, Described> }
type Fields = Map<string, { rules: Described; isRequired: boolean; isNullable: boolean }>

const kept = ['default', 'minimum', 'maximum', 'maxLength', 'maxItems', 'patternHint', 'enum'] as const

/** Source text of `src/client/fields.ts`. */
export function clientFields(head: string[], operations: AnyOperation[]): string {
  const created = fieldsOf(bodyOf(operations, 'createPipe'))
  const updated = fieldsOf(bodyOf(operations, 'updatePipe'))
  const lines = [...created].map(([pointer, { rules, isRequired }]) => {
    const update = updated.get(pointer)
    const text = JSON.stringify({
      ...(isRequired ? { required: true } : {}),
      ...(rules.type === 'number' ? { isFractional: true } : {}),
      ...Object.fromEntries(kept.flatMap((name) => (rules[name] === undefined ? [] : [[name, rules[name]]]))),
      ...(update ? { update: update.isNullable ? 'nullable' : 'value' } : {}),
    })
    return `  ${JSON.stringify(pointer)}: ${text},`
  })
  return [
    ...head,
    '',
    'export interface FieldRules {',
    '  /** Required if the object that contains the field is there. */',
    '  readonly required?: true',
    '  /** A number that need not be an integer. */',
    '  readonly isFractional?: true',
    '  readonly default?: string | number | boolean',
    '  readonly minimum?: number',
    '  readonly maximum?: number',
    '  readonly maxLength?: number',
    '  readonly maxItems?: number',
    '  /** Describes the pattern of the value. */',
    '  readonly patternHint?: string',
    '  readonly enum?: readonly string[]',
    '  /** Whether `updatePipe` changes the field, and whether null resets it. Absent: it cannot be changed. */',
    "  readonly update?: 'value' | 'nullable'",
    '}',
    '',
    '/** Rules of the fields of `createPipe`, by pointer; `*` stands for each item of a list. */',
    'export const pipeFieldRules = {',
    ...lines,
    '} as const satisfies Record<string, FieldRules>',
    '',
  ].join('\n')
}

function bodyOf(operations: AnyOperation[], id: string): Described {
  const body = operations.find((operation) => operation.id === id)?.body
  if (!body) throw new Error(`no operation ${id} with a body`)
  return body
}

/** Fields that are not objects, by pointer: `source/kafka/brokers`. */
function fieldsOf(shape: Described, pointer = '', isRequired = false, isNullable = false): Fields {
  const branches = shape.anyOf?.filter(({ type }) => type !== 'null')
  if (branches?.length === 1) return fieldsOf(branches[0]!, pointer, isRequired, true)
  const field = [pointer, { rules: shape, isRequired, isNullable }] as const
  if (shape.items?.properties) return new Map([field, ...fieldsOf(shape.items, `${pointer}/*`)])
  if (!shape.properties) return new Map([field])
  const { properties, required = [] } = shape
  return new Map(
    Object.entries(properties).flatMap(([name, field]) => [
      ...fieldsOf(field, pointer === '' ? name : `${pointer}/${name}`, required.includes(name)),
    ]),
  )
}
