// Rules of a shape as plain data, and helpers for rules and values.

import { isObject } from './merge-patch.ts'
import type { Schema } from './schema.ts'

export type Shape = Schema

const longestQuote = 64

export type Scalar = string | number | boolean | null

export type Kind = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array'

export interface Rules {
  type?: Kind | 'integer'
  const?: Scalar
  enum?: Scalar[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  patternHint?: string
  format?: string
  items?: Rules
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  properties?: Record<string, Rules>
  required?: string[]
  additionalProperties?: boolean | Rules
  anyOf?: Rules[]
  writeOnly?: boolean
  secret?: boolean
  /** Not a secret, but a client may send a secret by mistake. */
  unquoted?: boolean
}

export const kinds: Record<Kind | 'integer', string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  null: 'null',
  object: 'an object',
  array: 'a list',
}

/** A path as people write it: `source.kafka.topics`, `columns[2].name`; a key that is not a plain name is quoted. */
export function fieldPath(parent: string, key: string | number): string {
  if (typeof key === 'number') return `${parent}[${key}]`
  if (/^[A-Za-z_$][\w$]*$/.test(key)) return parent === '' ? clip(key) : `${parent}.${clip(key)}`
  return parent === '' ? quote(key) : `${parent}[${quote(key)}]`
}

/** The shape of a property, also inside a union or a nullable shape. */
export function propertyOf(rules: Rules, key: string): Rules | undefined {
  const direct = rules.properties === undefined ? undefined : own(rules.properties, key)
  if (direct !== undefined || rules.anyOf === undefined) return direct
  for (const branch of rules.anyOf) {
    const found = propertyOf(branch, key)
    if (found !== undefined) return found
  }
  return undefined
}

export function literals(rules: Rules): Scalar[] | undefined {
  return rules.const === undefined ? rules.enum : [rules.const]
}

export function isNullRule(rules: Rules): boolean {
  return rules.type === 'null' || rules.const === null
}

export function isUnquoted(rules: Rules): boolean {
  return rules.secret === true || rules.writeOnly === true || rules.unquoted === true
}

export function holdsUnquoted(rules: Rules): boolean {
  if (isUnquoted(rules)) return true
  const { properties = {}, items, additionalProperties, anyOf = [] } = rules
  const inside = [...Object.values(properties), ...anyOf]
  if (items !== undefined) inside.push(items)
  if (typeof additionalProperties === 'object') inside.push(additionalProperties)
  return inside.some(holdsUnquoted)
}

export function kindOf(value: unknown): Kind {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return typeof value as Kind
  return Array.isArray(value) ? 'array' : 'object'
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

export function own<Value>(object: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** The same text for equal values, whatever the order of their keys. Makes it cheap to find repeats in a long list. */
export function fingerprint(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(fingerprint).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value ?? null)
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  return `{${keys.sort().map((key) => `${JSON.stringify(key)}:${fingerprint(value[key])}`)}}`
}

export function quote(value: Scalar): string {
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(clip(withoutPasswords(value)))
}

const scheme = /^[a-z][\w+.-]{0,31}(?::[a-z]\w{0,31})?:\/\//i
/** Names of secrets in connection strings and queries, up to the value. */
const secretPart = /(?:pass|pwd|secret|token|key|sig)\w{0,32}\s{0,8}=/i

/**
 * Removes secrets from a quote: instead of a host, people send URLs, connection strings and keys. The sender controls the length, so
 * no character may be scanned twice.
 */
function withoutPasswords(text: string): string {
  if (text.includes('PRIVATE KEY')) return '***'
  const at = text.lastIndexOf('@')
  const userFrom = scheme.exec(text)?.[0].length ?? 0
  const hasPassword = at >= userFrom && (userFrom > 0 || text.lastIndexOf(':', at) !== -1)
  const shown = hasPassword ? `${text.slice(0, userFrom)}***${text.slice(at)}` : text
  // The quote is cut here anyway.
  const found = secretPart.exec(shown.slice(0, longestQuote))
  return found ? `${shown.slice(0, found.index + found[0].length)}***` : shown
}

function clip(text: string): string {
  if (text.length <= longestQuote) return text
  // Does not cut a surrogate pair in half.
  const end = (text.codePointAt(longestQuote - 1) ?? 0) > 0xffff ? longestQuote - 1 : longestQuote
  return `${text.slice(0, end)}…`
}
