// Expressions of the paper engine, parsed into functions of a row or of the rows of a group.
import { callAggregate, callScalar, castTo, compare, isAggregate, isTrue, textOf } from './functions.ts'
import { SqlError, type Tokens } from './tokens.ts'
import type { Row, Value } from './values.ts'

/** `rows` are the rows of the group of `row`. */
export type Evaluate = (row: Row, rows: Row[]) => Value

export interface Expression {
  evaluate: Evaluate
  /** As written. */
  text: string
  hasAggregate: boolean
}

/** Runs a subquery; returns the values of its first column, or tuples. */
export type RunSubquery = (tokens: Tokens) => () => Value[]

export function parseExpression(tokens: Tokens, runSubquery: RunSubquery): Expression {
  const parser = new ExpressionParser(tokens, runSubquery)
  const begin = tokens.peek().begin
  const evaluate = parser.parse(0)
  return { evaluate, text: tokens.text.slice(begin, parser.end).trim(), hasAggregate: parser.hasAggregate }
}

const powers: Record<string, number> = {
  OR: 1,
  AND: 2,
  '=': 4,
  '==': 4,
  '!=': 4,
  '<>': 4,
  '<': 4,
  '>': 4,
  '<=': 4,
  '>=': 4,
  IN: 4,
  NOT: 4,
  LIKE: 4,
  '||': 5,
  '+': 6,
  '-': 6,
  '*': 7,
  '/': 7,
  '%': 7,
}

class ExpressionParser {
  readonly #tokens: Tokens
  readonly #runSubquery: RunSubquery
  hasAggregate = false
  end = 0

  constructor(tokens: Tokens, runSubquery: RunSubquery) {
    this.#tokens = tokens
    this.#runSubquery = runSubquery
  }

  parse(minimum: number): Evaluate {
    let left = this.#prefix()
    for (;;) {
      this.end = this.#tokens.peek().begin
      const token = this.#tokens.peek()
      const operator = token.kind === 'word' ? token.value.toUpperCase() : token.kind === 'sign' ? token.value : ''
      const power = powers[operator]
      if (power === undefined || power <= minimum) return left
      this.#tokens.take()
      left = this.#infix(operator, power, left)
    }
  }

  #infix(operator: string, power: number, left: Evaluate): Evaluate {
    const tokens = this.#tokens
    if (operator === 'IN') return this.#in(left, false)
    if (operator === 'NOT') {
      tokens.must('IN')
      return this.#in(left, true)
    }
    const right = this.parse(power)
    return (row, rows) => operate(operator, left(row, rows), () => right(row, rows))
  }

  #in(left: Evaluate, isNot: boolean): Evaluate {
    const tokens = this.#tokens
    tokens.must('(')
    if (tokens.is('SELECT')) {
      const list = this.#runSubquery(tokens)
      tokens.must(')')
      let found: Set<string> | undefined
      return (row, rows) => {
        found ??= new Set(list().map(textOf))
        return found.has(textOf(left(row, rows))) !== isNot
      }
    }
    const items = this.#list(')')
    return (row, rows) => {
      const value = left(row, rows)
      return items.some((item) => compare(item(row, rows), value) === 0) !== isNot
    }
  }

  #list(close: string): Evaluate[] {
    const items: Evaluate[] = []
    while (!this.#tokens.takeIf(close)) {
      if (items.length > 0) this.#tokens.must(',')
      items.push(this.parse(0))
    }
    return items
  }

  #prefix(): Evaluate {
    const tokens = this.#tokens
    const { kind, value } = tokens.peek()
    if (kind === 'text' || kind === 'number') {
      tokens.take()
      const constant = kind === 'text' ? value : Number(value)
      return () => constant
    }
    if (tokens.takeIf('(')) return this.#parenthesis()
    return this.#nameOrCall()
  }

  #parenthesis(): Evaluate {
    const tokens = this.#tokens
    if (tokens.is('SELECT')) {
      const list = this.#runSubquery(tokens)
      tokens.must(')')
      return () => list()[0] ?? null
    }
    const items = this.#list(')')
    const [only] = items
    if (items.length === 1 && only) return only
    return (row, rows) => items.map((item) => item(row, rows))
  }

  #nameOrCall(): Evaluate {
    const tokens = this.#tokens
    let name = tokens.takeName()
    if (tokens.takeIf('(')) return this.#call(name)
    while (tokens.takeIf('.')) name = `${name}.${tokens.takeName()}`
    return (row) => {
      if (Object.hasOwn(row, name)) return row[name]!
      const last = name.slice(name.lastIndexOf('.') + 1)
      if (Object.hasOwn(row, last)) return row[last]!
      throw new SqlError(47, `Unknown identifier ${name}`)
    }
  }

  #call(name: string): Evaluate {
    const tokens = this.#tokens
    if (tokens.takeIf('*')) tokens.must(')')
    else if (name.toUpperCase() === 'CAST') return this.#cast()
    else if (isAggregate(name)) return this.#aggregate(name)
    else {
      const values = this.#list(')')
      return (row, rows) =>
        callScalar(
          name,
          values.map((value) => value(row, rows)),
        )
    }
    this.hasAggregate = true
    return (_row, rows) => rows.length
  }

  #cast(): Evaluate {
    const tokens = this.#tokens
    const value = this.parse(0)
    if (!tokens.takeIf('AS')) {
      tokens.must(',')
      const type = this.parse(0)
      tokens.must(')')
      return (row, rows) => castTo(value(row, rows), textOf(type(row, rows)))
    }
    const type = takeType(tokens)
    tokens.must(')')
    return (row, rows) => castTo(value(row, rows), type)
  }

  #aggregate(name: string): Evaluate {
    this.hasAggregate = true
    const [value] = this.#list(')')
    return (_row, rows) =>
      value
        ? callAggregate(
            name,
            rows.map((row) => value(row, rows)),
          )
        : rows.length
  }
}

function operate(operator: string, left: Value, right: () => Value): Value {
  if (operator === 'AND') return isTrue(left) && isTrue(right())
  if (operator === 'OR') return isTrue(left) || isTrue(right())
  const other = right()
  if (left === null || other === null) return null
  switch (operator) {
    case '=':
    case '==':
      return compare(left, other) === 0
    case '!=':
    case '<>':
      return compare(left, other) !== 0
    case '<':
      return compare(left, other) < 0
    case '>':
      return compare(left, other) > 0
    case '<=':
      return compare(left, other) <= 0
    case '>=':
      return compare(left, other) >= 0
    case 'LIKE':
      return likePattern(textOf(other)).test(textOf(left))
    case '||':
      return textOf(left) + textOf(other)
    case '+':
      return Number(left) + Number(other)
    case '-':
      return Number(left) - Number(other)
    case '*':
      return Number(left) * Number(other)
    case '/':
      return Number(left) / Number(other)
    default:
      return Number(left) % Number(other)
  }
}

function likePattern(pattern: string): RegExp {
  const source = pattern.replaceAll(
    /\\([\s\S])|([%_])|([^\w\s])/g,
    (_, escaped?: string, wild?: string, other?: string) => {
      if (wild !== undefined) return wild === '%' ? '[\\s\\S]*' : '[\\s\\S]'
      const literal = escaped ?? other ?? ''
      return /\w/.test(literal) ? literal : `\\${literal}`
    },
  )
  return new RegExp(`^${source}$`)
}

/** A type in a statement, as text. */
export function takeType(tokens: Tokens): string {
  const begin = tokens.peek().begin
  let { end } = tokens.take()
  if (tokens.is('(')) {
    let depth = 0
    do {
      const token = tokens.take()
      if (token.kind === 'end') throw new SqlError(62, 'Syntax error: a type does not end')
      if (token.kind === 'sign' && token.value === '(') depth++
      if (token.kind === 'sign' && token.value === ')') depth--
      end = token.end
    } while (depth > 0)
  }
  return tokens.text.slice(begin, end)
}
