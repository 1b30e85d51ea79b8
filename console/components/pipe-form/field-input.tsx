// Input of one field of the pipe form, with its label, explanation and errors.
import {
  Autocomplete,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  PasswordInput,
  Stack,
  Switch,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useState } from 'react'
import type { SchemaDiscovery } from '../../../src/client/shapes.ts'
import { rulesOf } from '../pipe-fields.ts'
import { aboutNumber } from './about-number.ts'
import { errorOf, type FormError, otherErrors } from './form-error.ts'
import { type FormField, isNeeded, resolved } from './form-field.ts'
import { columnsOf, fieldValue, isOn, listOf, numberOf, type PipeDraft, textOf, type Value } from './pipe-draft.ts'

/** Props of every part of the form. */
export interface FormProps {
  draft: PipeDraft
  /** Applies changed values; undefined makes a field untouched again. */
  edit: (values: Record<string, Value | undefined>) => void
  error: FormError
  /** Result of a passed check of the source. */
  found: SchemaDiscovery | undefined
}

export function FieldInput({
  field,
  form: { draft, edit, error: errors },
  groupError,
  keptText,
}: {
  field: FormField
  form: FormProps
  groupError?: string | undefined
  /** Placeholder of a secret that is stored. */
  keptText?: string | undefined
}) {
  const { pointer, label, input } = field
  const change = (value: Value | undefined): void => edit({ [pointer]: value })
  const error = [pointer, ...(field.alsoAt ?? [])].map((at) => errorOf(errors, at)).find(Boolean) ?? groupError
  const about = resolved(field.about, draft)
  const placeholder = keptText ?? resolved(field.placeholder, draft)
  const common = { label, description: about, error, required: isNeeded(field, draft), placeholder }
  const unhelped = { autoComplete: 'off', spellCheck: false } as const
  const typed = field.isSecret && !(pointer in draft.values) ? '' : textOf(draft, pointer)
  const multiline = { ...unhelped, autosize: true, minRows: 3, maxRows: 12 }
  switch (input) {
    case 'text':
      return (
        <TextInput
          {...common}
          {...unhelped}
          value={typed}
          onChange={({ currentTarget }) => change(currentTarget.value)}
          onBlur={() => {
            if (!field.isExact && typed !== typed.trim()) change(typed.trim())
          }}
        />
      )
    case 'time':
      return (
        <TextInput
          {...common}
          type="datetime-local"
          description="Date and time in UTC."
          value={typed}
          onChange={({ currentTarget }) => change(currentTarget.value)}
        />
      )
    case 'pem':
      return (
        <Textarea
          {...common}
          {...multiline}
          placeholder={placeholder ?? '-----BEGIN CERTIFICATE-----'}
          value={typed}
          onChange={({ currentTarget }) => change(currentTarget.value)}
          classNames={{ input: 'pem-input' }}
        />
      )
    case 'password':
    case 'privateKey':
      return <SecretInput {...common} isMultiline={input === 'privateKey'} value={typed} onChange={change} />
    case 'choice': {
      const { choices: known = {} } = field
      const choices: Record<string, string | undefined> = typeof known === 'function' ? known(draft) : known
      const names = typeof known === 'function' ? Object.keys(choices) : ['none', ...(rulesOf(pointer).enum ?? [])]
      return (
        <NativeSelect
          {...common}
          required={false}
          value={typed || 'none'}
          onChange={({ currentTarget }) => change(currentTarget.value)}
          data={names.flatMap((value) => (choices[value] ? [{ value, label: choices[value] }] : []))}
        />
      )
    }
    case 'switch':
      return (
        <Switch
          label={label}
          description={about}
          error={error}
          checked={isOn(draft, pointer) !== (field.isInverted ?? false)}
          onChange={({ currentTarget }) => change(currentTarget.checked !== (field.isInverted ?? false))}
        />
      )
    case 'number':
      return (
        <NumberInput
          {...common}
          description={aboutNumber(field, draft) || undefined}
          placeholder={String(rulesOf(pointer).default)}
          value={numberOf(draft, pointer) ?? ''}
          onChange={(entered) => change(entered === '' ? null : Number(entered))}
          allowDecimal={false}
          allowNegative={false}
          // The API validates the range.
          clampBehavior="none"
        />
      )
    case 'texts':
    case 'columnNames': {
      const names = listOf<string>(draft, pointer)
      const hint = input === 'texts' ? 'Type, then press Enter' : 'Choose a column, or type its name and press Enter'
      return (
        <TagsInput
          {...common}
          {...unhelped}
          data={input === 'texts' ? [] : columnNamesOf(draft)}
          value={names}
          onChange={change}
          error={otherErrors(errors, [pointer], [])}
          placeholder={names.length === 0 ? hint : undefined}
        />
      )
    }
    case 'columnName':
      return <Autocomplete {...common} {...unhelped} data={columnNamesOf(draft)} value={typed} onChange={change} />
    case 'forget':
      return (
        <Checkbox
          label={label}
          description={about}
          checked={fieldValue(draft, pointer) === null}
          onChange={({ currentTarget }) => change(currentTarget.checked ? null : undefined)}
          error={otherErrors(errors, [pointer], [])}
        />
      )
    case 'note':
      return (
        <Text size="sm" c="dimmed">
          {about}
        </Text>
      )
    case 'other':
      return null
  }
}

const columnNamesOf = (draft: PipeDraft): string[] =>
  [...new Set(columnsOf(draft).map(({ name }) => name))].filter((name) => name !== '')

/** A secret, hidden by default and not stored by the browser. */
function SecretInput({
  isMultiline,
  value,
  onChange,
  ...common
}: {
  label: string
  description: string | undefined
  error: string | undefined
  required: boolean
  placeholder: string | undefined
  value: string
  onChange: (secret: string) => void
  /** For private keys, whose line breaks matter. */
  isMultiline: boolean
}) {
  const [isVisible, setVisible] = useState(false)
  const showLabel = `${isVisible ? 'Hide' : 'Show'} ${common.label.toLowerCase()}`
  const shared = {
    ...common,
    value,
    spellCheck: false,
    autoComplete: 'off',
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  }
  if (isMultiline) {
    return (
      <Stack gap={4} align="stretch">
        <Textarea
          {...shared}
          autosize
          minRows={3}
          maxRows={12}
          classNames={{ input: isVisible || value === '' ? 'pem-input' : 'pem-input hidden-text' }}
        />
        {value !== '' && (
          <Group>
            <Button variant="subtle" size="compact-xs" onClick={() => setVisible(!isVisible)} aria-pressed={isVisible}>
              {showLabel}
            </Button>
          </Group>
        )}
      </Stack>
    )
  }
  return (
    <PasswordInput
      {...shared}
      aria-invalid={common.error ? true : undefined}
      // A password of another system: password managers must not fill or store it.
      data-1p-ignore
      data-lpignore="true"
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': showLabel, 'aria-hidden': false }}
    />
  )
}
