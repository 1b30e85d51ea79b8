// What a check found in a source, as columns of a table and as cells of a sample.
import type { Column, SourceField } from '../../../src/client/shapes.ts'

export function columnsOfFields(fields: SourceField[]): Column[] {
  return fields.map(({ name, type }) => ({ name, type }))
}

export function areColumnsOf(fields: SourceField[], columns: Column[]): boolean {
  return (
    fields.length === columns.length &&
    fields.every(({ name, type }, index) => columns[index]!.name === name && columns[index]!.type === type)
  )
}

/** Whether a person entered columns that would be lost. */
export function hasEnteredColumns(columns: Column[]): boolean {
  return columns.some(({ name, type }) => name !== '' || type !== '')
}

/** The names of fields, and of what rows have beyond them. */
export function namesInSample(fields: SourceField[], rows: Record<string, unknown>[]): string[] {
  return [...new Set([...fields.map(({ name }) => name), ...rows.flatMap((row) => Object.keys(row))])]
}

export interface SampleCell {
  text: string
  /** The text is not what the record has, but says something about it. */
  isRemark: boolean
}

const mostShown = 120

export function sampleCell(row: Record<string, unknown>, name: string): SampleCell {
  if (!Object.hasOwn(row, name)) return { text: 'absent', isRemark: true }
  const value = row[name]
  if (value === null) return { text: 'null', isRemark: true }
  if (value === '') return { text: 'empty', isRemark: true }
  return { text: typeof value === 'string' ? value : JSON.stringify(value), isRemark: false }
}

/** As much as a cell has room for. */
export function cutText(text: string): string {
  return text.length > mostShown ? `${text.slice(0, mostShown).replace(/[\ud800-\udbff]$/, '')}…` : text
}
