// Checks whether a value can be inserted into a type of the engine. Reports only values that the engine certainly rejects or
// changes. Assumes that the engine parses dates with `best_effort`.
import { Buffer } from 'node:buffer'
import { isIP, isIPv4 } from 'node:net'
import { calendarText } from '../timestamps.ts'
import { excerptOf } from '../undecodable.ts'
import { type SampleBudget, spendValues } from './sample-budget.ts'

export interface ValueProblem {
  /** The value or its kind. */
  found: string
  /** Completes "which … for the column". */
  why: string
}

/** Undefined when the value is valid, or when the type is unknown. */
export type ValueCheck = (value: unknown) => ValueProblem | undefined

const maxTypeLength = 4096
/** Of nested lists; deeper ones are not checked. */
const maxTypeDepth = 32

/** Checks values of one type. Elements of lists spend the budget; throws BudgetSpent when it is empty. */
export function makeValueCheck(type: string, budget: SampleBudget, depth = 0): ValueCheck {
  const { name, parameters } = partsOf(type)
  const isWrapper = name === 'Nullable' || name === 'LowCardinality'
  if ((isWrapper || name === 'Array') && depth < maxTypeDepth) {
    const innerCheck = makeValueCheck(parameters, budget, depth + 1)
    return isWrapper ? innerCheck : (value) => listProblem(value, innerCheck, budget)
  }
  const check = typeChecks.get(name)
  return (value) => {
    // An empty text of delimited formats means the default; bytes depend on the format.
    const isAnything = value === null || value === undefined || value === '' || value instanceof Uint8Array
    const why = isAnything ? undefined : check?.(value, parameters)
    return why === undefined ? undefined : { found: describe(value), why }
  }
}

function partsOf(type: string): { name: string; parameters: string } {
  const match = /^\s*(\w+)\s*(?:\(([\s\S]*)\)\s*)?$/.exec(type.slice(0, maxTypeLength))
  return { name: match?.[1] ?? '', parameters: match?.[2] ?? '' }
}

function listProblem(value: unknown, checkElement: ValueCheck, budget: SampleBudget): ValueProblem | undefined {
  if (value === null || value === undefined) return undefined
  if (Array.isArray(value)) {
    for (const element of value) {
      spendValues(budget, 1)
      const problem = checkElement(element)
      if (problem) return problem
    }
    return undefined
  }
  // In delimited formats, lists are text.
  const isPossible =
    typeof value === 'string' ? /^\s*(?:\[|$)/.test(value.slice(0, maxCheckedLength)) : value instanceof Uint8Array
  return isPossible ? undefined : { found: describe(value), why: 'is not a list, as it should be' }
}

function describe(value: unknown): string {
  if (typeof value === 'string') return excerptOf(value)
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'a timestamp'
  if (typeof value === 'object') return 'an object'
  const text = String(value)
  return text.length > 20 ? `${text.slice(0, 20)}…` : text
}

/** Why a value that is neither null nor empty is invalid; undefined when it is valid. */
type TypeCheck = (value: unknown, parameters: string) => string | undefined

/** Only the start of a longer text is checked: that is sufficient to detect invalid values, and saves time. */
const maxCheckedLength = 1000
const checkedText = (value: unknown): string => String(value).slice(0, maxCheckedLength).trim()

const notNumber = 'is not a number, as it should be'
const isComposite = (value: unknown): boolean => typeof value === 'object' && !(value instanceof Date)

const integer =
  (isSigned: boolean, bits: number): TypeCheck =>
  (value) => {
    if (typeof value === 'boolean' || value instanceof Date) return undefined
    if (isComposite(value)) return notNumber
    const text = checkedText(value)
    if (typeof value === 'string' && !isNumberText(text)) return notNumber
    const whole = wholeNumber(text)
    if (whole === undefined) return 'is not a whole number, as it should be'
    const isHeld = (isSigned ? BigInt.asIntN(bits, whole) : BigInt.asUintN(bits, whole)) === whole
    if (isHeld) return undefined
    return !isSigned && whole < 0n ? 'is negative, too small' : 'is too large or too small'
  }

/** No integer type has more digits. */
const maxDigits = 80

function wholeNumber(text: string): bigint | undefined {
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace('+', '').slice(0, maxDigits))
  const number = Number(text)
  return Number.isInteger(number) ? BigInt(number) : undefined
}

function isNumberText(text: string): boolean {
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)
}

const float: TypeCheck = (value) => {
  if (isComposite(value)) return notNumber
  if (typeof value !== 'string') return undefined
  const text = checkedText(value)
  return isNumberText(text) || /^[+-]?(?:nan|inf|infinity)$/i.test(text) ? undefined : notNumber
}

const decimal =
  (precision: number | undefined): TypeCheck =>
  (value, parameters) => {
    if (isComposite(value) || typeof value === 'boolean' || value instanceof Date) return notNumber
    const text = checkedText(value)
    if (!isNumberText(text)) return notNumber
    const [first = 10, second = 0] = parameters.split(',').map(Number)
    const [digits, scale] = precision === undefined ? [first, second] : [precision, first]
    const integerDigits = /^[+-]?0*(\d*)/.exec(text)?.[1]?.length ?? 0
    const hasExponent = /e/i.test(text)
    return !hasExponent && integerDigits > digits - scale ? 'has too many digits' : undefined
  }

const boolWords = /^(?:true|false|t|f|yes|no|y|n|on|off|enable|disable|enabled|disabled|1|0)$/i

const bool: TypeCheck = (value) => {
  if (typeof value === 'boolean') return undefined
  return isComposite(value) || value instanceof Date || !boolWords.test(checkedText(value))
    ? 'is neither true nor false, as it should be'
    : undefined
}

const notDate = 'is not a date, as it should be'

const date: TypeCheck = (value) => {
  if (value instanceof Date || typeof value === 'number' || typeof value === 'bigint') return undefined
  return typeof value === 'string' && mayBeDate(checkedText(value)) ? undefined : notDate
}

const dateWords = new Set(
  (
    'jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september ' +
    'october november december mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday ' +
    't z am pm utc gmt msk msd'
  ).split(' '),
)

/** Accepts every notation of a date that the engine may support. */
function mayBeDate(text: string): boolean {
  if (text.length > 50 || !/^[\w\s:.,/+-]+$/.test(text)) return false
  const isUsual = /^\d{4}-\d{2}-\d{2}/.test(text)
  // The range of years is not checked.
  if (isUsual) return calendarText(`2000${text.slice(4, 10)}`) !== undefined
  const words = text.toLowerCase().match(/[a-z_]+/g) ?? []
  const digits = text.replaceAll(/\D/g, '').length
  return digits >= 4 && words.every((word) => dateWords.has(word))
}

const uuid: TypeCheck = (value) =>
  typeof value === 'string' && /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32})$/i.test(checkedText(value))
    ? undefined
    : 'is not a UUID, as it should be'

const fixedString: TypeCheck = (value, parameters) =>
  typeof value === 'string' && Buffer.byteLength(value) > Number(parameters) ? 'is too long' : undefined

const address =
  (isAddress: (text: string) => boolean): TypeCheck =>
  (value) =>
    typeof value === 'string' && !isAddress(checkedText(value)) ? 'is not an address, as it should be' : undefined

const composite: TypeCheck = (value) =>
  isComposite(value) || typeof value === 'string' ? undefined : 'is neither a list nor an object, as it should be'

const typeChecks = new Map<string, TypeCheck>([
  ['Float32', float],
  ['Float64', float],
  ['BFloat16', float],
  ['Decimal', decimal(undefined)],
  ['Decimal32', decimal(9)],
  ['Decimal64', decimal(18)],
  ['Decimal128', decimal(38)],
  ['Decimal256', decimal(76)],
  ['Bool', bool],
  ['Date', date],
  ['Date32', date],
  ['DateTime', date],
  ['DateTime32', date],
  ['DateTime64', date],
  ['UUID', uuid],
  ['FixedString', fixedString],
  ['IPv4', address(isIPv4)],
  ['IPv6', address((text) => isIP(text) !== 0)],
  ['Map', composite],
  ['Tuple', composite],
])
for (const bits of [8, 16, 32, 64, 128, 256]) {
  typeChecks.set(`Int${bits}`, integer(true, bits))
  typeChecks.set(`UInt${bits}`, integer(false, bits))
}
