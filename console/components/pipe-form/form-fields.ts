// Fields of the pipe form in the order in which they are sent: create and edit render, check and send the same list.
import {
  databaseSection,
  definitionSection,
  listFields,
  scalingOfPipe,
  settingsOfPipe,
  tableFields,
  tableSection,
} from './destination-fields.ts'
import { type FormField, type FormSection, isNew, isShown, type Row, type SecretRow } from './form-field.ts'
import { type PipeDraft, textOf, type Value, type Values } from './pipe-draft.ts'
import { hasQueue, sourceSections } from './source-fields.ts'

export const nameField: FormField = { pointer: 'name', input: 'text', label: 'Name' }
export const startPausedField: FormField = {
  pointer: 'startPaused',
  input: 'switch',
  label: 'Create it stopped',
  about: 'It can be started later. Otherwise it starts at once.',
}
export const checkPointer = 'source/validateSamples'

const isSecretRow = (row: Row): row is SecretRow => 'group' in row
export const fieldsOfRows = (rows: Row[]): FormField[] => rows.flatMap((row) => (isSecretRow(row) ? row.fields : row))
export const rowsOf = ({ rows, more }: FormSection): Row[] => [...rows, ...(more?.rows ?? [])]

/** All fields that apply, in the order in which they are sent. */
export function shownFields(draft: PipeDraft): FormField[] {
  const sections = [
    ...(draft.kind ? sourceSections[draft.kind] : []),
    ...(draft.kind === 'postgres' ? [databaseSection] : [tableSection, definitionSection]),
  ]
  return [
    nameField,
    startPausedField,
    { pointer: checkPointer, input: 'other', label: '', isShown: isNew } satisfies FormField,
    ...sections.flatMap((section) => fieldsOfRows(rowsOf(section))),
    ...(draft.kind === 'postgres' ? tableFields(draft) : []),
    ...listFields,
    ...settingsOfPipe,
    ...scalingOfPipe,
  ].filter((field) => isShown(field, draft))
}

/** Applies changed values; undefined makes a field untouched again. */
export function withValues(draft: PipeDraft, changed: Record<string, Value | undefined>): PipeDraft {
  const entries = Object.entries({ ...draft.values, ...changed }).filter(([, value]) => value !== undefined)
  const next: PipeDraft = { ...draft, values: Object.fromEntries(entries) as Values }
  const authentication = 'source/objectStorage/authentication'
  // A queue requires credentials.
  const isOpen = isNew(next) && textOf(next, authentication) === 'none' && hasQueue(next)
  return isOpen ? { ...next, values: { ...next.values, [authentication]: 'IAM_ROLE' } } : next
}
