// Explains in our own words why ClickHouse rejects a row, without asking it.

import type { Row } from '../../source-shapes/probe.ts'
import { decodeDelimited } from '../decode/delimited-rows.ts'
import { BudgetSpent } from '../decode/sample-budget.ts'
import { makeValueCheck, type ValueCheck } from '../decode/value-fit.ts'
import { excerptOf, Undecodable } from '../undecodable.ts'
import type { RowShape } from './rows.ts'

/** Undefined when no reason is found. The bytes are those sent to ClickHouse. */
export type FindProblem = (bytes: Buffer) => string | undefined

export function problemFinder(shape: RowShape): FindProblem {
  const budget = { values: Number.POSITIVE_INFINITY, unpackedBytes: Number.POSITIVE_INFINITY }
  const checks = shape.fields.map(({ name, type }) => ({ name, type, check: makeValueCheck(type, budget) }))
  const rowOf = shape.format === 'JSONEachRow' ? objectIn : valuesIn(shape)
  return (bytes) => {
    try {
      return problemOf(rowOf(bytes), checks)
    } catch (error) {
      if (error instanceof Undecodable) return error.reason
      if (error instanceof BudgetSpent) return undefined
      throw error
    }
  }
}

function problemOf(
  row: Row | undefined,
  checks: { name: string; type: string; check: ValueCheck }[],
): string | undefined {
  for (const { name, type, check } of checks) {
    const problem = row && check(row[name])
    if (problem) return `${problem.found} ${problem.why}, in ${excerptOf(name, 100)} of type ${type}`
  }
  return undefined
}

/** Undefined unless it is one object of strictly valid JSON: ClickHouse accepts more. */
function objectIn(bytes: Buffer): Row | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : undefined
  } catch {
    return undefined
  }
}

function valuesIn({ format, delimiter, fields }: RowShape): (bytes: Buffer) => Row | undefined {
  const decoding = { format: format as 'CSV' | 'TabSeparated', delimiter: delimiter ?? ',', maxRows: 1 }
  return (bytes) => {
    const [row] = decodeDelimited({ bytes, isWhole: true }, decoding).rows
    if (!row) return undefined
    const values = Object.values(row)
    const isClosed = values.length === fields.length + 1 && values.at(-1) === ''
    if (values.length !== fields.length && !isClosed) {
      throw new Undecodable(`it has ${values.length} values, where ${fields.length} are expected`)
    }
    return Object.fromEntries(fields.map(({ name }, index) => [name, values[index]]))
  }
}
