import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { exactTime } from './exact-time.ts'

const dayMs = 86_400_000
const presets = [
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

/** Expiry: unchanged, never, after a common period, or at a chosen date and time. */
export function ExpiryInput({
  value,
  onChange,
  present,
  error,
  disabled = false,
}: {
  value: string | null
  onChange: (expireAt: string | null) => void
  /** The current expiry of an existing key. */
  present?: string | null
  error?: string | undefined
  disabled?: boolean
}) {
  const [choice, setChoice] = useState(present === undefined ? 'never' : present === value ? 'present' : 'custom')
  const choose = (chosen: string) => {
    setChoice(chosen)
    if (chosen === 'present') onChange(present ?? null)
    else if (chosen === 'never') onChange(null)
    else if (chosen === 'custom') onChange(value ?? new Date(Date.now() + 30 * dayMs).toISOString())
    else onChange(new Date(Date.now() + Number(chosen) * dayMs).toISOString())
  }
  const choices = [
    ...(present === undefined
      ? []
      : [{ value: 'present', label: `Unchanged: ${present === null ? 'never' : exactTime(present)}` }]),
    ...(present === null ? [] : [{ value: 'never', label: 'Never' }]),
    ...presets,
    { value: 'custom', label: 'At a date and time' },
  ]
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Expires"
        description="The key is refused from then on. Keys that expire limit what a lost secret can do."
        data={choices}
        value={choice}
        onChange={(event) => choose(event.currentTarget.value)}
        error={choice === 'custom' ? undefined : error}
        disabled={disabled}
      />
      {choice === 'custom' && <DateTimeInput value={value} onChange={onChange} error={error} disabled={disabled} />}
    </Stack>
  )
}

/** Input stays as typed until it is a valid date and time; invalid input is reset when the field loses the focus. */
function DateTimeInput({
  value,
  onChange,
  error,
  disabled,
}: {
  value: string | null
  onChange: (expireAt: string) => void
  error: string | undefined
  disabled: boolean
}) {
  const present = value === null ? '' : localText(value)
  const [text, setText] = useState(present)
  const take = (typed: string): void => {
    // The field has no seconds: an unchanged value must keep its own.
    if (typed !== present) onChange(new Date(typed).toISOString())
  }
  return (
    <TextInput
      type="datetime-local"
      label="Date and time of expiry, in your time zone"
      value={text}
      onChange={({ currentTarget: { value: typed } }) => {
        setText(typed)
        // While a year is typed, its value starts with zeros, such as 0002.
        if (isDateTime(typed) && typed >= '2000') take(typed)
      }}
      onBlur={() => {
        if (isDateTime(text)) take(text)
        else setText(present)
      }}
      required
      withAsterisk={false}
      error={error}
      disabled={disabled}
    />
  )
}

const isDateTime = (text: string): boolean => /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))

/** Format of `datetime-local` inputs: local time without an offset. */
function localText(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
