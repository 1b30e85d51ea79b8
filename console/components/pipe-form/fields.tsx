// Inputs for the fields of a new pipe, with labels from pipe-fields.ts and errors from the API.
import { Button, NativeSelect, NumberInput, Stack, Switch, TextInput } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'
import { ChevronIcon } from '../icons.tsx'
import type { FieldText } from '../pipe-fields.ts'
import type { FormError } from './form-error.ts'

/** Props of a part of the form: its values, and a callback for changes. */
export interface PartProps<Draft> {
  value: Draft
  onChange: (changed: Partial<Draft>) => void
  error: FormError
}

interface FieldProps<Value> {
  field: FieldText
  value: Value
  onChange: (value: Value) => void
  error?: string | undefined
  required?: boolean
}

export function TextField({
  field: { label, about },
  value,
  onChange,
  error,
  required = false,
  placeholder,
  isExact = false,
}: FieldProps<string> & {
  placeholder?: string
  /** Keeps leading and trailing spaces. */
  isExact?: boolean
}) {
  return (
    <TextInput
      label={label}
      description={about}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      onBlur={() => {
        if (!isExact && value !== value.trim()) onChange(value.trim())
      }}
      error={error}
      required={required}
      placeholder={placeholder}
      autoComplete="off"
      spellCheck={false}
    />
  )
}

/** A date and time in UTC, `YYYY-MM-DDTHH:MM`. */
export function DateTimeField({ field, value, onChange, error }: FieldProps<string>) {
  return (
    <TextInput
      type="datetime-local"
      label={field.label}
      description="Date and time in UTC."
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={error}
      required
    />
  )
}

export function ChoiceField<Value extends string>({
  field: { label, about },
  value,
  onChange,
  error,
  choices,
}: FieldProps<Value> & { choices: Partial<Record<Value, string>> }) {
  return (
    <NativeSelect
      label={label}
      description={about}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      error={error}
      data={Object.entries(choices).map(([choice, text]) => ({ value: choice, label: text as string }))}
    />
  )
}

export function SwitchField({ field: { label, about }, value, onChange, error }: FieldProps<boolean>) {
  return (
    <Switch
      label={label}
      description={about}
      checked={value}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      error={error}
    />
  )
}

/** Null: empty, so the default applies. */
export function NumberField({
  field: { label, about },
  value,
  onChange,
  error,
  defaultValue,
}: FieldProps<number | null> & { defaultValue: number }) {
  return (
    <NumberInput
      label={label}
      description={[about, `Default: ${defaultValue}`].filter(Boolean).join(' ')}
      placeholder={String(defaultValue)}
      value={value ?? ''}
      onChange={(typed) => onChange(typed === '' ? null : Number(typed))}
      error={error}
      allowDecimal={false}
      allowNegative={false}
      // The API validates the range.
      clampBehavior="none"
    />
  )
}

/** Rarely used fields. Opens automatically when one of them has an error. */
export function More({
  label,
  hasError = false,
  isOpenAtFirst = false,
  children,
}: {
  label: string
  hasError?: boolean
  isOpenAtFirst?: boolean
  children: ReactNode
}) {
  const id = useId()
  const [isOpen, setOpen] = useState(hasError || isOpenAtFirst)
  const [hadError, setHadError] = useState(hasError)
  if (hasError !== hadError) {
    setHadError(hasError)
    if (hasError) setOpen(true)
  }
  return (
    <Stack gap="md" align="stretch">
      <div>
        <Button
          variant="subtle"
          size="compact-sm"
          rightSection={<ChevronIcon size={14} />}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
          className="more-button"
        >
          {label}
        </Button>
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <Stack gap="md">{children}</Stack>}
      </div>
    </Stack>
  )
}
