// Limits the rows of a Parquet sample: long texts and lists are truncated, and rows end when the budget is spent. A file of a few
// kilobytes can expand to gigabytes, because dictionary encoding stores a repeated value once.

import type { Row, SourceField } from '../../source-shapes/probe.ts'
import { Undecodable } from '../undecodable.ts'
import { BudgetSpent, type SampleBudget, spendBytes, spendValues } from './sample-budget.ts'

const maxTextLength = 16 * 1024
const maxListLength = 1000
/** Limit for maps; structs have fewer. */
const maxEntries = 10_000

/** Budget for the rows, after the fields have been deducted. */
export function sampleBudgetOf(fields: SourceField[]): SampleBudget {
  const budget = { values: 200_000, unpackedBytes: 16 * 1024 * 1024 }
  try {
    for (const { name, type } of fields) {
      spendValues(budget, 1)
      spendBytes(budget, name.length + type.length)
    }
    return budget
  } catch (error) {
    throw error instanceof BudgetSpent
      ? new Undecodable('the schema of the Parquet object is more than a sample may hold')
      : error
  }
}

/** Undefined when the budget is spent. */
export function cutRow(entries: [string, unknown][], budget: SampleBudget): Row | undefined {
  try {
    return cutObject(entries, budget)
  } catch (error) {
    if (error instanceof BudgetSpent) return undefined
    throw error
  }
}

function cutObject(entries: [string, unknown][], budget: SampleBudget): Row {
  return Object.fromEntries(
    entries.map(([name, value]) => {
      spendBytes(budget, name.length)
      return [name, cutValue(value, budget)]
    }),
  )
}

function cutValue(value: unknown, budget: SampleBudget): unknown {
  spendValues(budget, 1)
  if (typeof value === 'string') return cutText(value, budget)
  if (value instanceof Uint8Array) {
    const bytes = value.slice(0, maxTextLength)
    spendBytes(budget, bytes.length)
    return bytes
  }
  if (Array.isArray(value)) return value.slice(0, maxListLength).map((element) => cutValue(element, budget))
  if (typeof value === 'object' && value !== null) {
    return cutObject(Object.entries(value).slice(0, maxEntries), budget)
  }
  return value
}

function cutText(text: string, budget: SampleBudget): string {
  const cut = text.slice(0, maxTextLength)
  spendBytes(budget, cut.length)
  // Not within a surrogate pair.
  const isSplit = cut.length < text.length && /[\ud800-\udbff]$/.test(cut.slice(-1))
  return isSplit ? cut.slice(0, -1) : cut
}
