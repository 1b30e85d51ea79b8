// Checks column types that users give. The result is always one ClickHouse type.
import { type EngineColumn, EngineError } from './engine.ts'
import { GrammarError, TokenReader } from './grammar-tokens.ts'
import { canonicalType, maxShownLength, takeName, takeType } from './type-grammar.ts'

/** The type as ClickHouse writes it. Throws an EngineError that names the column, if given. */
export function checkType(text: string, column?: string): string {
  try {
    return canonicalType(text)
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error
    const of = column === undefined ? '' : ` of the column ${JSON.stringify(column.slice(0, maxShownLength))}`
    const shown = JSON.stringify(text.slice(0, maxShownLength))
    throw new EngineError('user', `the type ${shown}${of} ${error.message}; use a type of ClickHouse`)
  }
}

/** Whether both are the same type. Types that the grammar does not have are compared as text. */
export function isSameType(one: string, other: string): boolean {
  try {
    return withoutVersions(canonicalType(one)) === withoutVersions(canonicalType(other))
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error
    return one === other
  }
}

/** Whether `type` holds every value of the type `of` unchanged. False when unknown. */
export function holdsAll(type: string, of: string): boolean {
  const [wide, narrow] = [withoutNullable(type), withoutNullable(of)]
  if (narrow.isNullable && !wide.isNullable) return false
  if (wide.type === narrow.type) return true
  const [to, from] = [parseNumber(wide.type), parseNumber(narrow.type)]
  if (wide.type === 'String') return from !== undefined
  if (!to || !from || to.family !== from.family) return false
  return to.whole >= from.whole && to.fraction >= from.fraction
}

function withoutNullable(type: string): { type: string; isNullable: boolean } {
  const inner = /^Nullable\((.*)\)$/.exec(type)?.[1]
  return inner === undefined ? { type, isNullable: false } : { type: inner, isNullable: true }
}

/** Capacity of a number type: bits, or digits before and after the decimal point. */
function parseNumber(type: string): { family: string; whole: number; fraction: number } | undefined {
  const [, family = '', bits] = /^(U?Int|Float)(\d+)$/.exec(type) ?? []
  if (bits) return { family, whole: Number(bits), fraction: 0 }
  const [, digits, scale] = /^Decimal\((\d+), (\d+)\)$/.exec(type) ?? []
  if (!digits || !scale) return undefined
  return { family: 'Decimal', whole: Number(digits) - Number(scale), fraction: Number(scale) }
}

/** ClickHouse adds the version of an aggregate state where the user gave none. */
function withoutVersions(type: string): string {
  return type.replaceAll(/\bAggregateFunction\(\d+, /g, 'AggregateFunction(')
}

/** The fields of a Nested type; undefined for any other type. */
export function nestedFields(text: string): EngineColumn[] | undefined {
  if (!/^\s*Nested\b/.test(text)) return undefined
  const reader = new TokenReader(checkType(text))
  reader.take()
  reader.mustSign('(')
  return reader.list(() => ({ name: takeName(reader), type: takeType(reader) }))
}
