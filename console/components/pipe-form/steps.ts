// Steps of the form for a new pipe: their missing fields, and the step of each field.
import type { FieldError } from '../../../src/client/error.ts'
import { rulesOf } from '../pipe-fields.ts'
import { type FormField, isNeeded } from './form-field.ts'
import { shownFields } from './form-fields.ts'
import { addedTables, addedTablesPointer, columnsOf, type PipeDraft, textOf } from './pipe-draft.ts'

export const steps = ['start', 'source', 'destination', 'settings', 'review'] as const
export type Step = (typeof steps)[number]

export const stepLabels: Record<Step, string> = {
  start: 'Service and kind',
  source: 'Source',
  destination: 'Destination',
  settings: 'Settings',
  review: 'Review',
}

/** The step of a field, from a pointer such as `#/source/kafka/brokers`. */
export function stepOfPointer(pointer: string): Step {
  const [, first, second, third] = pointer.split('/')
  if (first === 'source') {
    if (second === undefined) return 'start'
    if (second === 'validateSamples') return 'review'
    return second === 'postgres' && third === 'tableMappings' ? 'destination' : 'source'
  }
  if (first === 'destination' || first === 'fieldMappings') return 'destination'
  return first === 'settings' || first === 'scaling' ? 'settings' : 'review'
}

/** The step where an error can be fixed. Records that do not match the columns are fixed in the destination step. */
export function stepOfError({ pointer, detail }: FieldError): Step {
  return /^\S+: the step "fit" failed/.test(detail) ? 'destination' : stepOfPointer(pointer)
}

/** Labels of the required fields of a step that are empty. */
export function missingIn(step: Step, draft: PipeDraft): string[] {
  if (step === 'start') return [...(draft.serviceId ? [] : ['Service']), ...(draft.kind ? [] : ['Kind of source'])]
  return shownFields(draft)
    .filter(({ pointer }) => stepOfPointer(`#/${pointer}`) === step)
    .map((field) => missingOf(field, draft))
    .filter((label) => label !== undefined)
}

/** Labels of the required fields of an existing pipe that were emptied. */
export function emptiedFields(draft: PipeDraft): string[] {
  return shownFields(draft)
    .filter(({ pointer, input }) => {
      const { required, update } = rulesOf(pointer)
      const value = draft.values[pointer]
      if (input === 'number') return value === null && update === 'value'
      return typeof value === 'string' && value.trim() === '' && required === true
    })
    .map(({ label }) => label)
}

function missingOf(field: FormField, draft: PipeDraft): string | undefined {
  if (field.pointer === 'destination/columns') {
    const cells = columnsOf(draft).flatMap(({ name, type }) => [name, type])
    return missingCells(cells, 'A column', 'Name and type of all columns')
  }
  if (field.pointer === addedTablesPointer(draft)) {
    const cells = addedTables(draft).flatMap((table) => [table.sourceSchemaName, table.sourceTable, table.targetTable])
    return missingCells(cells, 'A table', 'Names of all tables')
  }
  return isNeeded(field, draft) && textOf(draft, field.pointer) === '' ? field.label : undefined
}

/** A list needs at least one row, and each row all of its cells. */
function missingCells(cells: string[], oneLabel: string, allLabel: string): string | undefined {
  if (cells.length === 0) return oneLabel
  return cells.includes('') ? allLabel : undefined
}
