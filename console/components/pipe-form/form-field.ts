// One field of the pipe form as data, and when it applies.
import { type FieldText, type PipeKind, rulesOf } from '../pipe-fields.ts'
import { type PipeDraft, textOf, type Value } from './pipe-draft.ts'

export type Input =
  | 'text'
  | 'texts'
  | 'columnName'
  | 'columnNames'
  | 'time'
  | 'number'
  | 'choice'
  | 'switch'
  | 'pem'
  | 'password'
  | 'privateKey'
  /** Removes a stored secret. */
  | 'forget'
  /** A text without an input. */
  | 'note'
  /** Sent, but rendered elsewhere or not at all. */
  | 'other'

export type Is = (draft: PipeDraft) => boolean
export type Text = string | undefined | ((draft: PipeDraft) => string)

export interface FormField {
  /** Of the field in the body, and of its errors. */
  pointer: string
  input: Input
  label: string
  about?: Text
  placeholder?: Text
  choices?: Record<string, string> | ((draft: PipeDraft) => Record<string, string>)
  /** Whether the field applies. By default always. */
  isShown?: Is
  /** Whether a new pipe needs it. By default what the API requires. */
  isNeeded?: Is
  /** Whether an existing pipe can change it. By default what the API says. */
  isMutable?: boolean
  /** Never shown: an empty one keeps the stored value. */
  isSecret?: boolean
  /** Leading and trailing spaces are kept. */
  isExact?: boolean
  /** A switch that is on when the value is false. */
  isInverted?: boolean
  /** Not sent if it has this value, besides the default of the API. */
  omitted?: Value
  toBody?: (value: Value | undefined, draft: PipeDraft) => unknown
  /** Other pointers whose errors are shown here. */
  alsoAt?: string[]
}

/** Secrets of one field of the source. */
export interface SecretRow {
  group: string
  fields: FormField[]
}

/** Fields of a list are side by side. */
export type Row = FormField | FormField[] | SecretRow

export interface FormSection {
  title: string
  about?: string
  rows: Row[]
  /** Rarely used fields. */
  more?: { label: string; rows: Row[] }
}

export const always: Is = () => true
const never: Is = () => false
export const isNew: Is = ({ pipe }) => pipe === undefined
export const isKind =
  (...kinds: (PipeKind | undefined)[]): Is =>
  ({ kind }) =>
    kinds.includes(kind)
export const not =
  (is: Is): Is =>
  (draft) =>
    !is(draft)
export const has =
  (pointer: string, ...values: string[]): Is =>
  (draft) =>
    values.includes(textOf(draft, pointer))

export type More = Partial<FormField>
type MakeField = (name: string, input: Input, more?: More) => FormField

/** Makes fields below a pointer, with their texts. */
export const fieldsAt =
  (path: string, texts: Record<string, FieldText>): MakeField =>
  (name, input, more = {}) => ({ pointer: path === '' ? name : `${path}/${name}`, input, ...texts[name]!, ...more })

export function isShown(field: FormField, draft: PipeDraft): boolean {
  const isAvailable = isNew(draft) || (field.isMutable ?? rulesOf(field.pointer).update !== undefined)
  return isAvailable && (field.isShown ?? always)(draft)
}

export function isNeeded(field: FormField, draft: PipeDraft): boolean {
  return isNew(draft) && (field.isNeeded ?? (rulesOf(field.pointer).required ? always : never))(draft)
}

export const resolved = (text: Text, draft: PipeDraft): string | undefined =>
  typeof text === 'function' ? text(draft) : text
