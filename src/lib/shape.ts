// Validates values against the JSON Schema objects that `schema.ts` builds. Messages quote what was sent, but never what a shape marks
// as `secret` or `writeOnly`.
import { isObject } from './merge-patch.ts'
import type { FieldProblem } from './problem.ts'
import { formats } from './shape-formats.ts'
import {
  fieldPath,
  fingerprint,
  holdsUnquoted,
  isNullRule,
  isScalar,
  isUnquoted,
  type Kind,
  kindOf,
  kinds,
  literals,
  own,
  propertyOf,
  quote,
  type Rules,
  type Scalar,
  type Shape,
} from './shape-rules.ts'

export interface ShapeOptions {
  /**
   * Name of the value in messages; default: `the body`. A path such as `columns[2]` also prefixes the paths of the fields inside; a
   * phrase with a space does not.
   */
  at?: string | undefined
  /** Shape of the resource in answers: fields that only it knows are tolerated, and left to `echoProblems`. */
  echo?: Shape | undefined
}

/** Maximum problems in one answer; a body of a megabyte can have hundreds of thousands. */
const mostProblems = 100

/** All invalid fields of the value, up to a hundred, each as a sentence that begins with its path. */
export function shapeProblems(shape: Shape, value: unknown, options: ShapeOptions = {}): FieldProblem[] {
  const walk = new Walk(options.at ?? 'the body', [])
  walk.check(shape as Rules, value, { echo: options.echo as Rules | undefined, secret: false, orNull: false })
  if (!walk.full) return walk.problems
  const detail = `${walk.root} has more problems than the ${mostProblems} that are listed`
  return [...walk.problems.slice(0, mostProblems), { path: walk.lead, detail }]
}

/** Context that the check of a value inherits from the values around it. */
interface ValueContext {
  echo: Rules | undefined
  secret: boolean
  /** The shape around this one accepts null, so the message must mention it. */
  orNull: boolean
}

class Walk {
  readonly root: string
  /** Prefix of all paths: empty unless `root` is a path. */
  readonly lead: string
  readonly problems: FieldProblem[] = []
  /** Keys and indexes that lead to the value being checked; formatted as a path only for a problem. */
  readonly trail: (string | number)[]

  constructor(root: string, trail: (string | number)[]) {
    this.root = root
    this.lead = root.includes(' ') ? '' : root
    this.trail = trail
  }

  /** One more problem than listed is kept, to detect that there are more, also after the attempts at a union. */
  get full(): boolean {
    return this.problems.length > mostProblems
  }

  check(rules: Rules, value: unknown, around: ValueContext): void {
    if (value === undefined) {
      this.add('is required')
      return
    }
    const context = isUnquoted(rules) && !around.secret ? { ...around, secret: true } : around
    if (!this.checkKind(rules, value, context)) return
    if (typeof value === 'string') this.checkString(rules, value, context)
    else if (typeof value === 'number') this.checkNumber(rules, value, context)
    else if (Array.isArray(value)) this.checkList(rules, value, context)
    else if (isObject(value)) this.checkObject(rules, value, context)
    if (rules.anyOf !== undefined) this.checkAnyOf(rules.anyOf, value, context)
  }

  checkKind(rules: Rules, value: unknown, context: ValueContext): boolean {
    const allowed = literals(rules)
    if (allowed !== undefined && !allowed.includes(value as Scalar)) {
      this.mustBe(expectation(rules, context.orNull), value, context.secret)
      return false
    }
    if (rules.type !== undefined && !isOfType(rules.type, value)) {
      // A scalar instead of an object may be the secret that belongs inside it.
      const secret = context.secret || holdsUnquoted(rules)
      this.mustBe(
        expectation(rules, context.orNull),
        value,
        secret,
        !(rules.type === 'integer' && typeof value === 'number'),
      )
      return false
    }
    return true
  }

  checkString(rules: Rules, value: string, context: ValueContext): void {
    const { minLength, maxLength, pattern, format } = rules
    if (minLength !== undefined || maxLength !== undefined) {
      const length = codePoints(value)
      if (length < (minLength ?? 0) || length > (maxLength ?? length)) {
        this.mustHave(amount(minLength, maxLength, 'character'), length, context.secret)
        return
      }
    }
    if (pattern !== undefined && !expression(pattern).test(value)) {
      this.mustBe(orNull(rules.patternHint ?? `text that matches ${pattern}`, context.orNull), value, context.secret)
      return
    }
    const known = format === undefined ? undefined : formats[format]
    if (known !== undefined && !known.accepts(value))
      this.mustBe(orNull(known.hint, context.orNull), value, context.secret)
  }

  checkNumber(rules: Rules, value: number, context: ValueContext): void {
    const { minimum, maximum } = rules
    if (value >= (minimum ?? value) && value <= (maximum ?? value)) return
    this.mustBe(orNull(numberPhrase(rules), context.orNull), value, context.secret)
  }

  checkList(rules: Rules, value: unknown[], context: ValueContext): void {
    const { items, minItems, maxItems } = rules
    if (value.length < (minItems ?? 0) || value.length > (maxItems ?? value.length)) {
      this.mustHave(amount(minItems, maxItems, 'item'), value.length, context.secret)
    }
    if (rules.uniqueItems === true)
      this.checkUnique(value, context.secret || (items !== undefined && holdsUnquoted(items)))
    if (items === undefined) return
    const inside = { echo: undefined, secret: context.secret, orNull: false }
    for (let index = 0; index < value.length && !this.full; index++) {
      this.trail.push(index)
      // JSON has no undefined; in a list it becomes null.
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

  checkObject(rules: Rules, value: Record<string, unknown>, context: ValueContext): void {
    const { properties = {}, additionalProperties, required = [] } = rules
    for (const key of Object.keys(value)) {
      if (this.full) return
      const sent = value[key]
      if (sent === undefined) continue
      const known = own(properties, key)
      const echo = context.echo === undefined ? undefined : propertyOf(context.echo, key)
      this.trail.push(key)
      if (known !== undefined) this.check(known, sent, { echo, secret: context.secret, orNull: false })
      else if (typeof additionalProperties === 'object') {
        this.check(additionalProperties, sent, { echo: undefined, secret: context.secret, orNull: false })
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

  checkAnyOf(branches: Rules[], value: unknown, context: ValueContext): void {
    const others = branches.filter((branch) => !isNullRule(branch))
    const nullable = others.length < branches.length
    if (value === null && nullable) return
    const inside = { ...context, orNull: context.orNull || nullable }
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
    const secret = context.secret || others.some(holdsUnquoted)
    this.mustBe(
      unionPhrase(others, inside.orNull),
      value,
      secret,
      others.every((branch) => literals(branch) === undefined),
    )
  }

  /** `showKind`: the kind of the value is the error, so it may be shown where the value may not. */
  mustBe(expected: string, value: unknown, secret: boolean, showKind = false): void {
    const kind = kinds[kindOf(value)]
    const sent = isScalar(value) ? quote(value) : kind
    const shown = secret ? (showKind ? kind : undefined) : sent
    this.add(`must be ${expected}${shown === undefined ? '' : `, not ${shown}`}`)
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
 * The branch that the sender most likely meant: of those that accept this kind of value, the one whose tags (properties with fixed
 * values) match, then the one with the fewest problems. Undefined when no branch accepts this kind of value.
 */
export function bestBranch(
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

/** A union of fixed values is described as an enum. */
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

function isOfType(type: Kind | 'integer', value: unknown): boolean {
  if (type === 'integer') return Number.isSafeInteger(value)
  if (type === 'number') return Number.isFinite(value)
  return kindOf(value) === type
}

function codePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

// Shapes are declared once, so the cache has as many expressions as the code.
const expressions = new Map<string, RegExp>()

export function expression(pattern: string): RegExp {
  let compiled = expressions.get(pattern)
  if (compiled === undefined) {
    compiled = new RegExp(pattern, 'u')
    expressions.set(pattern, compiled)
  }
  return compiled
}

/** The known name that was most likely meant: at most two typing errors away, ignoring case. */
export function nearest(name: string, known: string[]): string | undefined {
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
