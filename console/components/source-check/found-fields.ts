// Fields found by a source check, as table columns and as cells of a sample.
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

/** Whether entered columns would be lost. */
export function hasEnteredColumns(columns: Column[]): boolean {
  return columns.some(({ name, type }) => name !== '' || type !== '')
}

/** Names of the fields, then of additional values in the rows. */
export function namesInSample(fields: SourceField[], rows: Record<string, unknown>[]): string[] {
  return [...new Set([...fields.map(({ name }) => name), ...rows.flatMap((row) => Object.keys(row))])]
}

export interface SampleCell {
  text: string
  /** The text is a remark instead of the value. */
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

/** Shortens a text to the size of a cell. */
export function cutText(text: string): string {
  return text.length > mostShown ? `${text.slice(0, mostShown).replace(/[\ud800-\udbff]$/, '')}…` : text
}
