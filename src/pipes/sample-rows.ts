// Sample rows as JSON, limited in number and length. Values that JSON cannot represent are shown as text.
import type { Row } from '../source-shapes/probe.ts'

const maxRows = 20
const maxTextLength = 500
const maxItems = 50
const maxDepth = 8
/** Of all rows together: a table with many columns shows fewer rows. */
const maxLength = 131_072

export function showRows(rows: Row[]): Record<string, unknown>[] {
  const shown: Record<string, unknown>[] = []
  let length = 0
  for (const row of rows.slice(0, maxRows)) {
    const next = showValue(row, 0) as Record<string, unknown>
    length += JSON.stringify(next).length
    if (length > maxLength && shown.length > 0) break
    shown.push(next)
  }
  return shown
}

function showValue(value: unknown, depth: number): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'string') return cut(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array) return showBytes(value)
  if (depth === maxDepth) return '…'
  if (Array.isArray(value)) return value.slice(0, maxItems).map((item) => showValue(item, depth + 1))
  // The first level has the columns, which are all shown.
  const entries = Object.entries(value as object).slice(0, depth === 0 ? undefined : maxItems)
  return Object.fromEntries(entries.map(([name, item]) => [name, showValue(item, depth + 1)]))
}

function cut(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength).replace(/[\ud800-\udbff]$/, '')}…` : text
}

function showBytes(bytes: Uint8Array): string {
  const start = bytes.subarray(0, maxTextLength * 4)
  try {
    // `stream`: the cut may split a character.
    return cut(new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: start.length < bytes.length }))
  } catch {
    return cut(Buffer.from(start).toString('base64'))
  }
}
