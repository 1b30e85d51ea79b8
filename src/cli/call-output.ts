// Formats API results for the terminal: fields as lines, lists as tables.
import type { Schema } from '../lib/schema.ts'
import type { Rules } from '../lib/shape-rules.ts'

const gap = '  '
const widestCell = 48
const longestValue = 500
const mostItems = 10

/** Ends with a newline, unless there is nothing to print. */
export function formatResult(shape: Schema, result: unknown, width: number): string {
  if (result === null) return 'Done.\n'
  if (Array.isArray(result)) return formatList(shape.items ?? {}, result, width)
  if (typeof result !== 'object') return `${valueText(result)}\n`
  const lines = fieldsOf(result as object, '')
  const nameWidth = Math.max(0, ...lines.map(([name]) => lengthOf(name)))
  return lines.map((line) => `${aligned(line, [nameWidth, 0])}\n`).join('')
}

/** Escapes control characters and characters that change the text direction. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`
  })
}

/** Pads all cells except the last. */
export function aligned(cells: string[], widths: number[]): string {
  return cells
    .map((cell, index) => cell + ' '.repeat(Math.max(0, widths[index]! - lengthOf(cell))))
    .join(gap)
    .trimEnd()
}

function fieldsOf(value: object, parent: string): [string, string][] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]): [string, string][] => {
    const path = parent === '' ? printable(name) : `${parent}.${printable(name)}`
    if (Array.isArray(field)) return listFields(field, path)
    if (typeof field !== 'object' || field === null) return [[path, clip(valueText(field), longestValue)]]
    return Object.keys(field).length === 0 ? [[path, '(none)']] : fieldsOf(field, path)
  })
}

/** Values on one line; objects on one line each, limited to the first few. */
function listFields(items: unknown[], path: string): [string, string][] {
  if (items.length === 0) return [[path, '(none)']]
  const rest = items.length - mostItems
  const shown = items.slice(0, mostItems)
  if (shown.every((item) => typeof item !== 'object' || item === null)) {
    return [[path, `${shown.map(valueText).join(', ')}${rest > 0 ? `, and ${rest} more (see --json)` : ''}`]]
  }
  const lines = shown.map((item, index): [string, string] => [`${path}[${index}]`, clip(itemText(item), longestValue)])
  return rest > 0 ? [...lines, [path, `and ${rest} more (see --json)`]] : lines
}

function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return valueText(item)
  return Object.entries(item)
    .map(([name, value]: [string, unknown]) => {
      const text = typeof value === 'object' && value !== null ? printable(JSON.stringify(value)) : valueText(value)
      return `${printable(name)}=${text}`
    })
    .join(' ')
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return value === '' ? '""' : printable(String(value))
}

function clip(text: string, longest: number): string {
  const characters = [...text]
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`
}

interface Column {
  name: string
  rank: number
  cells: string[]
  width: number
}

function formatList(item: Rules, rows: unknown[], width: number): string {
  if (rows.length === 0) return ''
  if (!item.properties) return rows.map((row) => `${clip(itemText(row), longestValue)}\n`).join('')
  const columns = columnsThatFit(columnsOf(item, rows as Record<string, unknown>[]), width)
  const widths = columns.map((column) => column.width)
  const lines = [columns.map(({ name }) => name), ...rows.map((_, index) => columns.map(({ cells }) => cells[index]!))]
  return lines.map((cells) => `${aligned(cells, widths)}\n`).join('')
}

/** Columns with values, in the order of the shape. */
function columnsOf(item: Rules, rows: Record<string, unknown>[]): Column[] {
  const names = Object.keys(item.properties!)
  const idName = names.includes('id') ? 'id' : names.find((name) => name.endsWith('Id'))
  return names.flatMap((name) => {
    const rank = rankOf(name, item.properties![name]!, name === idName)
    if (rank === undefined || rows.every((row) => isEmpty(row[name]))) return []
    const cells = rows.map((row) => cellText(row[name], name === idName))
    return { name, rank, cells, width: Math.max(name.length, ...cells.map(lengthOf)) }
  })
}

/** Priority of a column, lowest first; undefined: not shown, because its values are structured. */
function rankOf(name: string, shape: Rules, isId: boolean): number | undefined {
  const rules = shape.anyOf?.find(({ type }) => type !== 'null') ?? shape
  const values = rules.type === 'array' ? rules.items : rules
  if (!values || values.type === 'object' || values.type === 'array' || values.anyOf) return undefined
  if (isId) return 0
  if (/^(?:name|email)$/.test(name)) return 1
  if (/^(?:state|status|type|roles?)$/.test(name)) return 2
  if (rules.type === 'array' || name === 'description') return 5
  return rules.format === 'date-time' ? 3 : 4
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Ids are not shortened, so that they can be copied. */
function cellText(value: unknown, isId: boolean): string {
  const text = Array.isArray(value) ? value.map(valueText).join(', ') || '-' : valueText(value)
  return isId ? text : clip(text, widestCell)
}

function columnsThatFit(columns: Column[], width: number): Column[] {
  const chosen = new Set<Column>()
  let used = -gap.length
  for (const column of columns.toSorted((a, b) => a.rank - b.rank)) {
    const needed = used + gap.length + column.width
    if (chosen.size > 0 && needed > width) continue
    chosen.add(column)
    used = needed
  }
  // The id comes first.
  return columns.filter((column) => chosen.has(column)).toSorted((a, b) => Number(a.rank > 0) - Number(b.rank > 0))
}

function lengthOf(text: string): number {
  return [...text].length
}
