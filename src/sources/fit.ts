// Checks whether the records of a sample can fill the columns of the destination. It must not report values that ClickHouse
// accepts: unknown types are not checked, and null is always valid, because ClickHouse inserts the default.

import { findInRow } from '../formats/decode/field-path.ts'
import { BudgetSpent, newBudget, type SampleBudget } from '../formats/decode/sample-budget.ts'
import { makeValueCheck, type ValueProblem } from '../formats/decode/value-fit.ts'
import { avroFileProblem, type WholeFormat, wholeFileProblems } from '../formats/decode/whole-file-fit.ts'
import { excerptOf } from '../formats/undecodable.ts'
import type { Row, Sample } from '../source-shapes/probe.ts'

/** Metadata of the transport. Mappings may use these columns although no sample has them. */
export const virtualColumns: readonly string[] = [
  '_topic',
  '_partition',
  '_offset',
  '_timestamp',
  '_key',
  '_headers',
  '_stream',
  '_shard',
  '_sequence',
  '_path',
  '_file',
  '_size',
  '_time',
]

export interface DestinationColumn {
  name: string
  type: string
}

export interface FieldMapping {
  sourceField: string
  destinationField: string
}

const maxProblems = 20

/**
 * The first 20 problems, each as the middle of a sentence. Empty when the sample fits, or when it has neither fields nor rows.
 * `files`: ClickHouse reads the objects as whole files.
 */
export function fitProblems(
  sample: Sample,
  columns: DestinationColumn[],
  fieldMappings: FieldMapping[],
  files?: WholeFormat,
): string[] {
  if (sample.fields.length === 0 && sample.rows.length === 0) return []
  const problems: string[] = []
  const hasField = fieldFinder(sample)
  for (const { sourceField, destinationField } of fieldMappings) {
    if (hasField(sourceField)) continue
    const [field, column] = [quoted(sourceField), quoted(destinationField)]
    problems.push(`no record has the field ${field} that fieldMappings maps to the column ${column}`)
  }
  const mapped = new Map(fieldMappings.map((mapping) => [mapping.destinationField, mapping.sourceField]))
  const filled = columns
    .map((column) => ({ column, field: mapped.get(column.name) ?? column.name }))
    .filter(({ field }) => hasField(field))
  if (filled.length === 0 && columns.length > 0 && problems.length === 0) {
    problems.push(`no column has the name of a field of the records, which have ${listOf(sample)}`)
  }
  if (files) problems.push(...fileProblems(sample, filled, files))
  const budget = newBudget()
  for (const { column, field } of filled) {
    if (problems.length >= maxProblems) break
    const problem = columnProblem(sample.rows, column, field, budget)
    if (problem !== undefined) problems.push(problem)
  }
  return problems.slice(0, maxProblems)
}

function fileProblems(
  { fields }: Sample,
  filled: { column: DestinationColumn; field: string }[],
  files: WholeFormat,
): string[] {
  const columns = filled.map(({ column, field }) => ({ ...column, field }))
  const problems = wholeFileProblems(columns, files)
  if (files === 'Parquet') return problems
  const declared = new Map(fields.map(({ name, type }) => [name, type]))
  for (const { name, type, field } of columns) {
    const from = declared.get(field)
    const why = from === undefined ? undefined : avroFileProblem(from, type)
    const to = `the column ${quoted(name)} of type ${excerptOf(type, 100)}`
    if (why !== undefined) problems.push(`${to} takes from the field ${quoted(field)}, which ${why}`)
  }
  return problems
}

/** The first problem of a column: the others are usually the same. */
function columnProblem(
  rows: Row[],
  { name, type }: DestinationColumn,
  field: string,
  budget: SampleBudget,
): string | undefined {
  const check = makeValueCheck(type, budget)
  for (const [index, row] of rows.entries()) {
    const problem = problemWithin(() => check(findInRow(row, field)))
    if (problem === undefined) continue
    const to = `the column ${quoted(name)} of type ${excerptOf(type, 100)}`
    return `row ${index + 1} has ${problem.found} in the field ${quoted(field)}, which ${problem.why} for ${to}`
  }
  return undefined
}

/** Lists are not checked when the budget is spent: many columns may use the same long list. */
function problemWithin(check: () => ValueProblem | undefined): ValueProblem | undefined {
  try {
    return check()
  } catch (error) {
    if (error instanceof BudgetSpent) return undefined
    throw error
  }
}

function fieldFinder({ fields, rows }: Sample): (path: string) => boolean {
  const names = new Set(fields.map(({ name }) => name))
  return (path) => {
    if (virtualColumns.includes(path) || names.has(path)) return true
    if (!path.includes('.')) return false
    if (rows.some((row) => findInRow(row, path) !== undefined)) return true
    // The fields of an object are unknown when it is null in all records.
    return namesBeforeDots(path).some((name) => names.has(name) && rows.every((row) => (row[name] ?? null) === null))
  }
}

function namesBeforeDots(path: string): string[] {
  const parts = path.split('.')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'))
}

const maxListed = 5

function listOf({ fields }: Sample): string {
  const names = fields.slice(0, maxListed).map(({ name }) => quoted(name))
  const more = fields.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function quoted(name: string): string {
  return excerptOf(name, 100)
}
