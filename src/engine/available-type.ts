// Replaces a type that the connected ClickHouse does not have.
import { findUnknownFamily } from './check-destination.ts'
import { GrammarError } from './grammar-tokens.ts'

/** The type itself, or one of these families that holds its values as they are written. */
export function availableType(type: string, families: ReadonlySet<string>): string {
  if (!isUnknown(type, families)) return type
  const [, inner] = /^Nullable\((.*)\)$/s.exec(type) ?? []
  const other = (inner ?? type) === 'Bool' ? 'UInt8' : 'String'
  return inner === undefined ? other : `Nullable(${other})`
}

function isUnknown(type: string, families: ReadonlySet<string>): boolean {
  try {
    return findUnknownFamily(type, families) !== undefined
  } catch (error) {
    if (error instanceof GrammarError) return false
    throw error
  }
}
