// What a value must look like, as the JSON Schema objects that `schema.ts` builds: checking a value against one, cutting a
// value down to one, and comparing the read-only fields that a client sends back.
// The sentences are for people and quote what was sent, but never what a shape marks as `secret` or `writeOnly`.
// A keyword that is not implemented here would be a rule that silently does not hold: `assertKnownKeywords` refuses it.

import type { FieldProblem } from './problem.ts'
import type { Schema } from './schema.ts'

export type Shape = Schema

export interface ShapeOptions {
  /**
   * What to call the value itself, `the body` unless told. A path such as `columns[2]` also leads the paths of the
   * fields inside; a phrase, which has a space, does not.
   */
  at?: string | undefined
  /** The shape of the resource as it is read: fields that only it knows are tolerated, and left to `echoProblems`. */
  echo?: Shape | undefined
}

/** The most problems in one answer; a body of a megabyte can hold hundreds of thousands. */
const mostProblems = 100
const longestQuote = 64

type Scalar = string | number | boolean | null
type Kind = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array'

interface Rules {
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
}

const annotations = new Set([
  '$id',
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'secret',
  'patternHint',
])

const kinds: Record<Kind | 'integer', string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  null: 'null',
  object: 'an object',
  array: 'a list',
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const mailbox = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
const hostLabel = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const email = new RegExp(`^${mailbox}(?:\\.${mailbox})*@${hostLabel}(?:\\.${hostLabel})*$`, 'i')

const day = '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])'
const hourAndMinute = '(?:[01]\\d|2[0-3]):[0-5]\\d'
const dateTime = new RegExp(`^${day}T${hourAndMinute}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${hourAndMinute})$`)

const formats: Record<string, { hint: string; accepts(text: string): boolean }> = {
  uuid: { hint: 'a uuid', accepts: (text) => uuid.test(text) },
  email: { hint: 'an email address', accepts: (text) => email.test(text) },
  'date-time': {
    hint: 'a date and time such as 2026-01-31T12:00:00Z',
    accepts: (text) => dateTime.test(text) && isCalendarDay(text.slice(0, 10)),
  },
}

/** Every field of the value that does not fit, up to a hundred, each as a sentence that begins with its path. */
export function shapeProblems(shape: Shape, value: unknown, options: ShapeOptions = {}): FieldProblem[] {
  const walk = new Walk(options.at ?? 'the body', [])
  walk.check(shape as Rules, value, { echo: options.echo as Rules | undefined, secret: false, orNull: false })
  if (!walk.full) return walk.problems
  const detail = `${walk.root} has more problems than the ${mostProblems} that are listed`
  return [...walk.problems.slice(0, mostProblems), { path: walk.lead, detail }]
}

/** Throws when the shape, or a shape inside it, has a rule that this file does not implement. */
export function assertKnownKeywords(shape: Shape): void {
  const unknown: string[] = []
  collectUnknown(shape, '', unknown)
  if (unknown.length > 0) throw new Error(`the shape has rules that are not implemented: ${unknown.join(', ')}`)
}

/** A copy of the value that has only what the shape lists, so that no field leaves unless it was declared. */
export function pick(shape: Shape, value: unknown): unknown {
  const rules = shape as Rules
  if (value === null || value === undefined) return value
  if (rules.anyOf !== undefined && rules.properties === undefined) {
    const branches = rules.anyOf.filter((branch) => !isNullRule(branch))
    if (isScalar(value)) return branches.some((branch) => pick(branch, value) !== undefined) ? value : undefined
    const branch =
      branches.length > 1 ? bestBranch(branches, value, (each) => shapeProblems(each, value))?.branch : branches[0]
    return branch === undefined ? undefined : pick(branch, value)
  }
  if (rules.type === 'array' || rules.items !== undefined) {
    if (!Array.isArray(value)) return undefined
    const { items } = rules
    return items === undefined ? value : value.map((item) => pick(items, item))
  }
  if (rules.type === 'object' || rules.properties !== undefined || rules.additionalProperties !== undefined) {
    return isObject(value) ? pickObject(rules, value) : undefined
  }
  const listed = isScalar(value) || (rules.type === undefined && literals(rules) === undefined)
  return listed ? value : undefined
}

/**
 * What a client sent back of the fields that it can only read (known to `echo`, not to `shape`) and that differs from
 * the resource as it is. Sending them unchanged is allowed, so that a resource may be read, edited and sent as a whole.
 */
export function echoProblems(shape: Shape, echo: Shape, body: unknown, current: unknown): FieldProblem[] {
  const problems: FieldProblem[] = []
  collectEchoProblems(shape as Rules, echo as Rules, body, current, '', false, problems)
  return problems
}

/** A path as people write it: `source.kafka.topics`, `columns[2].name`; a key that is not a plain name is quoted. */
export function fieldPath(parent: string, key: string | number): string {
  if (typeof key === 'number') return `${parent}[${key}]`
  if (/^[A-Za-z_$][\w$]*$/.test(key)) return parent === '' ? clip(key) : `${parent}.${clip(key)}`
  return parent === '' ? quote(key) : `${parent}[${quote(key)}]`
}

/** What the check of one place inherits from the places around it. */
interface Place {
  echo: Rules | undefined
  secret: boolean
  /** Null is accepted by the shape around this one, and the sentences must say so. */
  orNull: boolean
}

class Walk {
  readonly root: string
  /** What the paths begin with: nothing, unless the root was given a path for a name. */
  readonly lead: string
  readonly problems: FieldProblem[] = []
  /** The keys and indexes that lead to the value being checked; made a path only when there is a problem to tell. */
  readonly trail: (string | number)[]

  constructor(root: string, trail: (string | number)[]) {
    this.root = root
    this.lead = root.includes(' ') ? '' : root
    this.trail = trail
  }

  /** One more than are listed is kept, to know that there are more, also after the attempts at a union. */
  get full(): boolean {
    return this.problems.length > mostProblems
  }

  check(rules: Rules, value: unknown, around: Place): void {
    if (value === undefined) {
      this.add('is required')
      return
    }
    const place = isMarkedSecret(rules) && !around.secret ? { ...around, secret: true } : around
    if (!this.checkKind(rules, value, place)) return
    if (typeof value === 'string') this.checkString(rules, value, place)
    else if (typeof value === 'number') this.checkNumber(rules, value, place)
    else if (Array.isArray(value)) this.checkList(rules, value, place)
    else if (isObject(value)) this.checkObject(rules, value, place)
    if (rules.anyOf !== undefined) this.checkAnyOf(rules.anyOf, value, place)
  }

  checkKind(rules: Rules, value: unknown, place: Place): boolean {
    const allowed = literals(rules)
    if (allowed !== undefined && !allowed.includes(value as Scalar)) {
      this.mustBe(expectation(rules, place.orNull), value, place.secret)
      return false
    }
    if (rules.type !== undefined && !isOfType(rules.type, value)) {
      // A scalar in the place of an object may well be the secret that belonged inside it.
      const secret = place.secret || holdsSecret(rules)
      this.mustBe(
        expectation(rules, place.orNull),
        value,
        secret,
        !(rules.type === 'integer' && typeof value === 'number'),
      )
      return false
    }
    return true
  }

  checkString(rules: Rules, value: string, place: Place): void {
    const { minLength, maxLength, pattern, format } = rules
    if (minLength !== undefined || maxLength !== undefined) {
      const length = codePoints(value)
      if (length < (minLength ?? 0) || length > (maxLength ?? length)) {
        this.mustHave(amount(minLength, maxLength, 'character'), length, place.secret)
        return
      }
    }
    if (pattern !== undefined && !expression(pattern).test(value)) {
      this.mustBe(orNull(rules.patternHint ?? `text that matches ${pattern}`, place.orNull), value, place.secret)
      return
    }
    const known = format === undefined ? undefined : formats[format]
    if (known !== undefined && !known.accepts(value)) this.mustBe(orNull(known.hint, place.orNull), value, place.secret)
  }

  checkNumber(rules: Rules, value: number, place: Place): void {
    const { minimum, maximum } = rules
    if (value >= (minimum ?? value) && value <= (maximum ?? value)) return
    this.mustBe(orNull(numberPhrase(rules), place.orNull), value, place.secret)
  }

  checkList(rules: Rules, value: unknown[], place: Place): void {
    const { items, minItems, maxItems } = rules
    if (value.length < (minItems ?? 0) || value.length > (maxItems ?? value.length)) {
      this.mustHave(amount(minItems, maxItems, 'item'), value.length, place.secret)
    }
    if (rules.uniqueItems === true) this.checkUnique(value, place.secret || (items !== undefined && holdsSecret(items)))
    if (items === undefined) return
    const inside = { echo: undefined, secret: place.secret, orNull: false }
    for (let index = 0; index < value.length && !this.full; index++) {
      this.trail.push(index)
      // JSON has no undefined; in a list it would be written as null.
      this.check(items, value[index] ?? null, inside)
      this.trail.pop()
    }
  }

  checkUnique(list: unknown[], secret: boolean): void {
    const timesSeen = new Map<string, number>()
    list.forEach((item, index) => {
      const key = fingerprint(item)
      const times = (timesSeen.get(key) ?? 0) + 1
      timesSeen.set(key, times)
      if (times !== 2) return
      if (isScalar(item) && !secret) this.add(`must not repeat ${quote(item)}`)
      else this.add(`must not repeat an item, as ${fieldPath(this.path(), index)} does`)
    })
  }

  checkObject(rules: Rules, value: Record<string, unknown>, place: Place): void {
    const { properties = {}, additionalProperties, required = [] } = rules
    for (const key of Object.keys(value)) {
      if (this.full) return
      const sent = value[key]
      if (sent === undefined) continue
      const known = own(properties, key)
      const echo = place.echo === undefined ? undefined : propertyOf(place.echo, key)
      this.trail.push(key)
      if (known !== undefined) this.check(known, sent, { echo, secret: place.secret, orNull: false })
      else if (typeof additionalProperties === 'object') {
        this.check(additionalProperties, sent, { echo: undefined, secret: place.secret, orNull: false })
      } else if (additionalProperties === false && echo === undefined) {
        const meant = nearest(key, Object.keys(properties))
        this.add(`is not a known field${meant === undefined ? '' : `, did you mean ${quote(meant)}?`}`)
      }
      this.trail.pop()
    }
    for (const key of required) {
      if (own(value, key) !== undefined) continue
      this.trail.push(key)
      this.add('is required')
      this.trail.pop()
    }
  }

  checkAnyOf(branches: Rules[], value: unknown, place: Place): void {
    const others = branches.filter((branch) => !isNullRule(branch))
    const nullable = others.length < branches.length
    if (value === null && nullable) return
    const inside = { ...place, orNull: place.orNull || nullable }
    const [only] = others
    if (only !== undefined && others.length === 1) {
      this.check(only, value, inside)
      return
    }
    const best = bestBranch(others, value, (branch) => {
      const attempt = new Walk(this.root, this.trail)
      attempt.check(branch, value, inside)
      return attempt.problems
    })
    if (best !== undefined) {
      for (const problem of best.problems) this.push(problem)
      return
    }
    const secret = place.secret || others.some(holdsSecret)
    this.mustBe(
      unionPhrase(others, inside.orNull),
      value,
      secret,
      others.every((branch) => literals(branch) === undefined),
    )
  }

  /** `kindTells` says that the kind of the value is what is wrong, so that it may be told where the value may not. */
  mustBe(expected: string, value: unknown, secret: boolean, kindTells = false): void {
    const kind = kinds[kindOf(value)]
    const sent = isScalar(value) ? quote(value) : kind
    const told = secret ? (kindTells ? kind : undefined) : sent
    this.add(`must be ${expected}${told === undefined ? '' : `, not ${told}`}`)
  }

  mustHave(expected: string, count: number, secret: boolean): void {
    this.add(`must have ${expected}${secret ? '' : `, not ${count}`}`)
  }

  add(rest: string): void {
    const path = this.path()
    this.push({ path, detail: `${path === '' ? this.root : path} ${rest}` })
  }

  push(problem: FieldProblem): void {
    if (!this.full) this.problems.push(problem)
  }

  path(): string {
    return this.trail.reduce<string>(fieldPath, this.lead)
  }
}

/**
 * The branch that the sender most likely meant: of those that take this kind of value, the one whose tags (properties
 * with fixed values) fit, then the one with the fewest problems. None when no branch takes this kind of value.
 */
function bestBranch(
  branches: Rules[],
  value: unknown,
  problemsWith: (branch: Rules) => FieldProblem[],
): { branch: Rules; problems: FieldProblem[] } | undefined {
  let best: { branch: Rules; problems: FieldProblem[]; tagsMissed: number } | undefined
  for (const branch of branches) {
    if (!takesKind(branch, value)) continue
    const problems = problemsWith(branch)
    const tagsMissed = problems.length === 0 ? -1 : missedTags(branch, value)
    const better =
      best === undefined ||
      tagsMissed < best.tagsMissed ||
      (tagsMissed === best.tagsMissed && problems.length < best.problems.length)
    if (better) best = { branch, problems, tagsMissed }
  }
  return best
}

function takesKind(rules: Rules, value: unknown): boolean {
  const allowed = literals(rules)
  if (allowed !== undefined) return allowed.includes(value as Scalar)
  if (rules.type !== undefined && !isOfType(rules.type, value)) return false
  return rules.anyOf === undefined || rules.anyOf.some((branch) => takesKind(branch, value))
}

function missedTags(rules: Rules, value: unknown): number {
  if (!isObject(value)) return 0
  return Object.entries(rules.properties ?? {}).filter(([key, property]) => {
    const sent = own(value, key)
    return sent !== undefined && literals(property)?.includes(sent as Scalar) === false
  }).length
}

function collectUnknown(shape: unknown, path: string, unknown: string[]): void {
  const note = (what: string) => unknown.push(path === '' ? what : `${what} (at ${path})`)
  if (!isObject(shape)) {
    note('a shape that is not an object')
    return
  }
  // typebox hides its own marks from Object.keys; two of them are rules.
  for (const key of Object.getOwnPropertyNames(shape)) {
    const rule = shape[key]
    if (key === '~refine' || key === '~codec') note(key)
    if (key.startsWith('~') || key.startsWith('x-') || annotations.has(key)) continue
    switch (key) {
      case 'type':
        if (typeof rule !== 'string' || !Object.hasOwn(kinds, rule)) note(`type ${JSON.stringify(rule)}`)
        break
      case 'format':
        if (typeof rule !== 'string' || !Object.hasOwn(formats, rule)) note(`format ${JSON.stringify(rule)}`)
        break
      case 'const':
        if (!isScalar(rule)) note('const of a value that is not a scalar')
        break
      case 'enum':
        if (!Array.isArray(rule) || !rule.every(isScalar)) note('enum of values that are not scalars')
        if (Object.hasOwn(shape, 'const')) note('enum beside const')
        break
      case 'pattern':
        if (typeof rule !== 'string') note('pattern that is not a string')
        else expression(rule)
        break
      case 'properties':
        for (const [name, property] of Object.entries(rule as object))
          collectUnknown(property, fieldPath(path, name), unknown)
        break
      case 'items':
        collectUnknown(rule, `${path}[]`, unknown)
        break
      case 'additionalProperties':
        if (typeof rule !== 'boolean') collectUnknown(rule, fieldPath(path, '*'), unknown)
        break
      case 'anyOf':
        if (Array.isArray(rule)) for (const branch of rule) collectUnknown(branch, path, unknown)
        else note('anyOf that is not a list')
        break
      case 'minimum':
      case 'maximum':
      case 'minLength':
      case 'maxLength':
      case 'minItems':
      case 'maxItems':
        if (typeof rule !== 'number') note(`${key} that is not a number`)
        break
      case 'uniqueItems':
      case 'required':
        break
      default:
        note(key)
    }
  }
}

function pickObject(rules: Rules, value: Record<string, unknown>): Record<string, unknown> {
  const { properties = {}, additionalProperties = false } = rules
  const picked: Record<string, unknown> = {}
  for (const key of Object.keys(properties)) keep(picked, key, pick(properties[key]!, own(value, key)))
  if (additionalProperties === false) return picked
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key)) continue
    keep(picked, key, additionalProperties === true ? value[key] : pick(additionalProperties, value[key]))
  }
  return picked
}

function keep(object: Record<string, unknown>, key: string, value: unknown): void {
  // Assigning `__proto__` would replace the prototype instead of adding a property.
  if (value !== undefined && key !== '__proto__') object[key] = value
}

function collectEchoProblems(
  shape: Rules,
  echo: Rules,
  body: unknown,
  current: unknown,
  parent: string,
  secretAround: boolean,
  problems: FieldProblem[],
): void {
  if (!isObject(body)) return
  const secret = secretAround || isMarkedSecret(shape) || isMarkedSecret(echo)
  for (const key of Object.keys(body)) {
    const sent = body[key]
    const readable = propertyOf(echo, key)
    if (sent === undefined || readable === undefined) continue
    const path = fieldPath(parent, key)
    const is = isObject(current) ? own(current, key) : undefined
    const writable = propertyOf(shape, key)
    if (writable !== undefined) {
      collectEchoProblems(writable, readable, sent, is, path, secret, problems)
    } else if (typeof shape.additionalProperties !== 'object' && !repeats(sent, is)) {
      const told = isScalar(is) && !secret && !holdsSecret(readable) ? ` (it is ${quote(is)})` : ''
      problems.push({ path, detail: `${path} cannot be ${is === undefined ? 'set' : 'changed'}${told}` })
    }
  }
}

/** Whether a value only says what is there already; of an object, part of it may be said. */
function repeats(sent: unknown, is: unknown): boolean {
  if (isObject(sent) && isObject(is)) return Object.keys(sent).every((key) => repeats(sent[key], own(is, key)))
  return fingerprint(sent) === fingerprint(is ?? null)
}

/** The shape of a property, also where it is one of several shapes or null. */
function propertyOf(rules: Rules, key: string): Rules | undefined {
  const direct = rules.properties === undefined ? undefined : own(rules.properties, key)
  if (direct !== undefined || rules.anyOf === undefined) return direct
  for (const branch of rules.anyOf) {
    const found = propertyOf(branch, key)
    if (found !== undefined) return found
  }
  return undefined
}

function expectation(rules: Rules, nullable: boolean): string {
  return orNull(plainExpectation(rules), nullable)
}

function plainExpectation(rules: Rules): string {
  const allowed = literals(rules)
  if (allowed !== undefined) return literalsPhrase(allowed)
  if (rules.type === 'integer' || rules.type === 'number') return numberPhrase(rules)
  if (rules.type === 'string') return rules.patternHint ?? formats[rules.format ?? '']?.hint ?? kinds.string
  if (rules.type !== undefined) return kinds[rules.type]
  return unionPhrase(rules.anyOf ?? [], false)
}

/** A union of fixed values reads as the enum that it is. */
function unionPhrase(branches: Rules[], nullable: boolean): string {
  const fixed = branches.flatMap((branch) => literals(branch) ?? [])
  const others = branches.filter((branch) => literals(branch) === undefined).map(plainExpectation)
  const phrases = [...new Set([...(fixed.length > 0 ? [literalsPhrase(fixed)] : []), ...others])]
  if (nullable || phrases.length === 0) phrases.push('null')
  return phrases.join(' or ')
}

function orNull(phrase: string, nullable: boolean): string {
  return nullable ? `${phrase} or null` : phrase
}

function literalsPhrase(values: Scalar[]): string {
  const written = values.map((value) =>
    typeof value === 'string' && isPlainWord(value) ? value : JSON.stringify(value),
  )
  return written.length === 1 ? `${written[0]}` : `one of ${written.join(', ')}`
}

function isPlainWord(text: string): boolean {
  return /^[A-Za-z_][\w./:-]*$/.test(text) && !['true', 'false', 'null'].includes(text)
}

function numberPhrase({ type, minimum, maximum }: Rules): string {
  const noun = type === 'integer' ? kinds.integer : kinds.number
  if (minimum !== undefined && maximum !== undefined) return `${noun} between ${minimum} and ${maximum}`
  if (minimum !== undefined) return `${noun} of at least ${minimum}`
  if (maximum !== undefined) return `${noun} of at most ${maximum}`
  return noun
}

function amount(least: number | undefined, most: number | undefined, noun: string): string {
  const plural = (count: number) => `${count} ${noun}${count === 1 ? '' : 's'}`
  if (most === undefined) return `at least ${plural(least ?? 0)}`
  if (least === undefined || least === 0) return `at most ${plural(most)}`
  return least === most ? `exactly ${plural(most)}` : `${least} to ${plural(most)}`
}

function literals(rules: Rules): Scalar[] | undefined {
  return rules.const === undefined ? rules.enum : [rules.const]
}

function isNullRule(rules: Rules): boolean {
  return rules.type === 'null' || rules.const === null
}

function isMarkedSecret(rules: Rules): boolean {
  return rules.secret === true || rules.writeOnly === true
}

function holdsSecret(rules: Rules): boolean {
  if (isMarkedSecret(rules)) return true
  const { properties = {}, items, additionalProperties, anyOf = [] } = rules
  const inside = [...Object.values(properties), ...anyOf]
  if (items !== undefined) inside.push(items)
  if (typeof additionalProperties === 'object') inside.push(additionalProperties)
  return inside.some(holdsSecret)
}

function isOfType(type: Kind | 'integer', value: unknown): boolean {
  if (type === 'integer') return Number.isSafeInteger(value)
  if (type === 'number') return Number.isFinite(value)
  return kindOf(value) === type
}

function kindOf(value: unknown): Kind {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return typeof value as Kind
  return Array.isArray(value) ? 'array' : 'object'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function own<Value>(object: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** The same text for equal values, whatever the order of their keys. Keeps it cheap to find repeats in a long list. */
function fingerprint(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(fingerprint).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value ?? null)
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  return `{${keys.sort().map((key) => `${JSON.stringify(key)}:${fingerprint(value[key])}`)}}`
}

function quote(value: Scalar): string {
  return typeof value === 'string' ? JSON.stringify(clip(value)) : String(value)
}

function clip(text: string): string {
  if (text.length <= longestQuote) return text
  // A cut between the halves of a character would leave half of it.
  const end = (text.codePointAt(longestQuote - 1) ?? 0) > 0xffff ? longestQuote - 1 : longestQuote
  return `${text.slice(0, end)}…`
}

function codePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

// Shapes are declared once, so this holds as many expressions as the code has.
const expressions = new Map<string, RegExp>()

function expression(pattern: string): RegExp {
  let compiled = expressions.get(pattern)
  if (compiled === undefined) {
    compiled = new RegExp(pattern, 'u')
    expressions.set(pattern, compiled)
  }
  return compiled
}

/** Refuses the 30th of February, which Date would take for the 2nd of March. */
function isCalendarDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
}

/** The known name that was most likely meant: at most two typing errors away, whatever the case of its letters. */
function nearest(name: string, known: string[]): string | undefined {
  let best: string | undefined
  let bestDistance = 3
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > 2) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    // A name of two letters is two errors away from every other.
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const swap = above[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(swap, above[column]! + 1, current[column - 1]! + 1))
    }
    above = current
  }
  return above[to.length]!
}
