// Merges the fields of several schema versions into one list with types of the engine.
import type { SourceField } from '../../source-shapes/probe.ts'

/** The engine does not support Nullable for composite types: an absent value is empty. */
export function nullable(type: string): string {
  return /^(?:Nullable|Array|Map|Tuple|Variant)\(/.test(type) ? type : `Nullable(${type})`
}

function optionalField(name: string, type: string): SourceField {
  return { name, type: nullable(type), isOptional: true }
}

/** Fields of all lists, in order of first appearance. A field that is missing in a list is optional. */
export function mergeFields(lists: SourceField[][]): SourceField[] {
  const [first = [], ...others] = lists
  if (others.length === 0) return first
  const merged = new Map<string, { field: SourceField; count: number }>()
  for (const field of lists.flat()) {
    const known = merged.get(field.name)
    if (!known) merged.set(field.name, { field, count: 1 })
    else {
      known.field = commonField(known.field, field)
      known.count++
    }
  }
  return [...merged.values()].map(({ field, count }) =>
    count < lists.length ? optionalField(field.name, field.type) : field,
  )
}

function commonField(one: SourceField, other: SourceField): SourceField {
  const type = commonType(one.type, other.type)
  return one.isOptional || other.isOptional
    ? optionalField(one.name, type)
    : { name: one.name, type, isOptional: false }
}

const integers = ['Int32', 'UInt32', 'Int64', 'UInt64']
const isFloat = (type: string): boolean => type.startsWith('Float')

/** The narrowest type that can store both versions of a field, at worst String. */
function commonType(one: string, other: string): string {
  if (one === other) return one
  const both = [one, other]
  const values = both.map((type) => insideOf('Nullable', type) ?? type) as [string, string]
  if (values.some((type, index) => type !== both[index])) return nullable(commonType(...values))
  const [items, otherItems] = both.map((type) => insideOf('Array', type))
  if (items !== undefined && otherItems !== undefined) return `Array(${commonType(items, otherItems)})`
  if (both.every((type) => integers.includes(type))) return commonInteger(both)
  return both.every((type) => integers.includes(type) || isFloat(type)) ? 'Float64' : 'String'
}

function commonInteger(types: string[]): string {
  if (!types.includes('UInt64')) return 'Int64'
  return types.includes('UInt32') ? 'UInt64' : 'Int128'
}

function insideOf(outer: string, type: string): string | undefined {
  return type.startsWith(`${outer}(`) ? type.slice(outer.length + 1, -1) : undefined
}
