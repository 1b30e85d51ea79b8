// Whether a value of a record can go into a type of the engine. Says no only where the engine would surely refuse the value or
// change it; the engine is taken to read dates in its lenient way ("best effort").
import { Buffer } from 'node:buffer'
import { isIP, isIPv4 } from 'node:net'
import { calendarText } from './calendar-text.ts'
import { excerptOf } from './decode.ts'
import { type SampleBudget, spendValues } from './sample-budget.ts'

export interface ValueProblem {
  /** The value, or what it is. */
  found: string
  /** Completes "which … for the column". */
  why: string
}

/** Undefined when the value fits, or when the type is not known here. */
export type ValueCheck = (value: unknown) => ValueProblem | undefined

const maxTypeLength = 4096
/** Of lists in lists; what is deeper is not judged. */
const maxTypeDepth = 32

/** Judges values of one type. Elements of lists spend the budget, and the judge throws BudgetSpent when it is empty. */
export function makeValueCheck(type: string, budget: SampleBudget, depth = 0): ValueCheck {
  const { name, parameters } = partsOf(type)
  const isWrapper = name === 'Nullable' || name === 'LowCardinality'
  if ((isWrapper || name === 'Array') && depth < maxTypeDepth) {
    const judgeInner = makeValueCheck(parameters, budget, depth + 1)
    return isWrapper ? judgeInner : (value) => listProblem(value, judgeInner, budget)
  }
  const judge = judges.get(name)
  return (value) => {
    // An empty text of delimited formats stands for the default; bytes mean what the format says.
    const isAnything = value === null || value === undefined || value === '' || value instanceof Uint8Array
    const why = isAnything ? undefined : judge?.(value, parameters)
    return why === undefined ? undefined : { found: describe(value), why }
  }
}

function partsOf(type: string): { name: string; parameters: string } {
  const match = /^\s*(\w+)\s*(?:\(([\s\S]*)\)\s*)?$/.exec(type.slice(0, maxTypeLength))
  return { name: match?.[1] ?? '', parameters: match?.[2] ?? '' }
}

function listProblem(value: unknown, judgeElement: ValueCheck, budget: SampleBudget): ValueProblem | undefined {
  if (value === null || value === undefined) return undefined
  if (Array.isArray(value)) {
    for (const element of value) {
      spendValues(budget, 1)
      const problem = judgeElement(element)
      if (problem) return problem
    }
    return undefined
  }
  // Delimited formats have lists as text.
  const isPossible =
    typeof value === 'string' ? /^\s*(?:\[|$)/.test(value.slice(0, maxJudgedLength)) : value instanceof Uint8Array
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

/** What is wrong with a value that is neither null nor empty; undefined for nothing. */
type Judge = (value: unknown, parameters: string) => string | undefined

/** A text that is longer is judged by its beginning: what fits no type by then never does, and the rest only takes time. */
const maxJudgedLength = 1000
const judgedText = (value: unknown): string => String(value).slice(0, maxJudgedLength).trim()

const notNumber = 'is not a number, as it should be'
const isComposite = (value: unknown): boolean => typeof value === 'object' && !(value instanceof Date)

const integer =
  (isSigned: boolean, bits: number): Judge =>
  (value) => {
    if (typeof value === 'boolean' || value instanceof Date) return undefined
    if (isComposite(value)) return notNumber
    const text = judgedText(value)
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

const float: Judge = (value) => {
  if (isComposite(value)) return notNumber
  if (typeof value !== 'string') return undefined
  const text = judgedText(value)
  return isNumberText(text) || /^[+-]?(?:nan|inf|infinity)$/i.test(text) ? undefined : notNumber
}

const decimal =
  (precision: number | undefined): Judge =>
  (value, parameters) => {
    if (isComposite(value) || typeof value === 'boolean' || value instanceof Date) return notNumber
    const text = judgedText(value)
    if (!isNumberText(text)) return notNumber
    const [first = 10, second = 0] = parameters.split(',').map(Number)
    const [digits, scale] = precision === undefined ? [first, second] : [precision, first]
    const integerDigits = /^[+-]?0*(\d*)/.exec(text)?.[1]?.length ?? 0
    const hasExponent = /e/i.test(text)
    return !hasExponent && integerDigits > digits - scale ? 'has too many digits' : undefined
  }

const boolWords = /^(?:true|false|t|f|yes|no|y|n|on|off|enable|disable|enabled|disabled|1|0)$/i

const bool: Judge = (value) => {
  if (typeof value === 'boolean') return undefined
  return isComposite(value) || value instanceof Date || !boolWords.test(judgedText(value))
    ? 'is neither true nor false, as it should be'
    : undefined
}

const notDate = 'is not a date, as it should be'

const date: Judge = (value) => {
  if (value instanceof Date || typeof value === 'number' || typeof value === 'bigint') return undefined
  return typeof value === 'string' && mayBeDate(judgedText(value)) ? undefined : notDate
}

const dateWords = new Set(
  (
    'jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september ' +
    'october november december mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday ' +
    't z am pm utc gmt msk msd'
  ).split(' '),
)

/** Everything that is a date in some way of writing it; the engine knows many. */
function mayBeDate(text: string): boolean {
  if (text.length > 50 || !/^[\w\s:.,/+-]+$/.test(text)) return false
  const isUsual = /^\d{4}-\d{2}-\d{2}/.test(text)
  // The years that the types can hold are for the engine to limit.
  if (isUsual) return calendarText(`2000${text.slice(4, 10)}`) !== undefined
  const words = text.toLowerCase().match(/[a-z_]+/g) ?? []
  const digits = text.replaceAll(/\D/g, '').length
  return digits >= 4 && words.every((word) => dateWords.has(word))
}

const uuid: Judge = (value) =>
  typeof value === 'string' && /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32})$/i.test(judgedText(value))
    ? undefined
    : 'is not a UUID, as it should be'

const fixedString: Judge = (value, parameters) =>
  typeof value === 'string' && Buffer.byteLength(value) > Number(parameters) ? 'is too long' : undefined

const address =
  (isAddress: (text: string) => boolean): Judge =>
  (value) =>
    typeof value === 'string' && !isAddress(judgedText(value)) ? 'is not an address, as it should be' : undefined

const composite: Judge = (value) =>
  isComposite(value) || typeof value === 'string' ? undefined : 'is neither a list nor an object, as it should be'

const judges = new Map<string, Judge>([
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
  judges.set(`Int${bits}`, integer(true, bits))
  judges.set(`UInt${bits}`, integer(false, bits))
}
