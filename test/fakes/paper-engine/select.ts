// SELECT of the paper engine.
import { type Expression, parseExpression } from './expressions.ts'
import { compare, isTrue, textOf } from './functions.ts'
import { finalRows, loadTable, type PaperStorage, systemRows } from './storage.ts'
import type { Tokens } from './tokens.ts'
import type { Row, Value } from './values.ts'

export interface SelectContext {
  storage: PaperStorage
  database: string
  /** For a view: its source table, of which it sees only the rows of the current insert. */
  viewed?: { source?: string; rows: Row[] }
}

export interface Selected {
  names: string[]
  rows: Value[][]
}

interface Item {
  name: string
  expression: Expression
}

export function parseSelect(tokens: Tokens, context: SelectContext): () => Selected {
  const expression = (): Expression => parseExpression(tokens, (inner) => subquery(inner, context))
  const list = (): Expression[] => {
    const found = [expression()]
    while (tokens.takeIf(',')) found.push(expression())
    return found
  }
  tokens.must('SELECT')
  const isDistinct = tokens.takeIf('DISTINCT')
  const items: Item[] = []
  while (items.length === 0 || tokens.takeIf(',')) {
    const each = expression()
    items.push({ name: tokens.takeIf('AS') ? tokens.takeName() : nameOf(each.text), expression: each })
  }
  const from = tokens.takeIf('FROM') ? parseFrom(tokens, context) : (): Row[] => [{}]
  const where = tokens.takeIf('WHERE') ? expression() : undefined
  const groupBy = tokens.takeIf('GROUP', 'BY') ? list() : undefined
  const having = tokens.takeIf('HAVING') ? expression() : undefined
  const orderBy = tokens.takeIf('ORDER', 'BY') ? parseOrder(tokens, expression) : []
  const { offset, limit } = parseLimit(tokens)
  return () => {
    const withAliases = (row: Row): Row => {
      const aliases = items.filter(({ name, expression: each }) => !each.hasAggregate && !Object.hasOwn(row, name))
      return {
        ...row,
        ...Object.fromEntries(aliases.map(({ name, expression: each }) => [name, each.evaluate(row, [row])])),
      }
    }
    let rows = from().map(withAliases)
    if (where) rows = rows.filter((row) => isTrue(where.evaluate(row, [row])))
    const isGrouped = groupBy !== undefined || items.some(({ expression: each }) => each.hasAggregate)
    let groups = isGrouped ? groupsOf(rows, groupBy ?? []) : rows.map((row) => [row])
    if (having) groups = groups.filter((group) => isTrue(having.evaluate(group[0] ?? {}, group)))
    groups = sorted(groups, orderBy)
    let selected = groups.map((group) => items.map(({ expression: each }) => each.evaluate(group[0] ?? {}, group)))
    if (isDistinct) selected = [...new Map(selected.map((values) => [textOf(values), values])).values()]
    return {
      names: items.map(({ name }) => name),
      rows: selected.slice(offset, offset + limit),
    }
  }
}

const nameOf = (text: string): string => (/^`[^`\\]*`$/.test(text) ? text.slice(1, -1) : text)

function subquery(tokens: Tokens, context: SelectContext): () => Value[] {
  const run = parseSelect(tokens, context)
  return () => run().rows.map((values) => (values.length === 1 ? values[0]! : values))
}

function parseFrom(tokens: Tokens, context: SelectContext): () => Row[] {
  if (tokens.takeIf('(')) {
    const run = parseSelect(tokens, context)
    tokens.must(')')
    if (tokens.takeIf('AS')) tokens.takeName()
    return () => {
      const { names, rows } = run()
      return rows.map((values) => Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])))
    }
  }
  const first = tokens.takeName()
  const [database, name] = tokens.takeIf('.') ? [first, tokens.takeName()] : [context.database, first]
  const isFinal = tokens.takeIf('FINAL')
  const { viewed } = context
  if (viewed && viewed.source === undefined) {
    viewed.source = `${database}.${name}`
    return () => viewed.rows
  }
  return () => {
    if (database === 'system') return systemRows(context.storage, name)
    const table = loadTable(context.storage, database, name)
    return isFinal ? finalRows(table) : table.rows
  }
}

type Order = { expression: Expression; sign: 1 | -1 }[]

function parseOrder(tokens: Tokens, expression: () => Expression): Order {
  const order: Order = []
  while (order.length === 0 || tokens.takeIf(',')) {
    const each = expression()
    const isDescending = tokens.takeIf('DESC')
    if (!isDescending) tokens.takeIf('ASC')
    order.push({ expression: each, sign: isDescending ? -1 : 1 })
  }
  return order
}

interface Limit {
  offset: number
  limit: number
}

function parseLimit(tokens: Tokens): Limit {
  if (!tokens.takeIf('LIMIT')) return { offset: 0, limit: Number.POSITIVE_INFINITY }
  const first = Number(tokens.take().value)
  if (tokens.takeIf(',')) return { offset: first, limit: Number(tokens.take().value) }
  return { offset: tokens.takeIf('OFFSET') ? Number(tokens.take().value) : 0, limit: first }
}

function groupsOf(rows: Row[], by: Expression[]): Row[][] {
  if (by.length === 0) return [rows]
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const key = textOf(by.map(({ evaluate }) => evaluate(row, [row])))
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return [...groups.values()]
}

function sorted(groups: Row[][], order: Order): Row[][] {
  if (order.length === 0) return groups
  return groups.toSorted((one, other) => {
    for (const { expression, sign } of order) {
      const result = compare(expression.evaluate(one[0] ?? {}, one), expression.evaluate(other[0] ?? {}, other))
      if (result !== 0) return result * sign
    }
    return 0
  })
}
