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

/** When something ends: as it was, never, after a usual time, or at a moment that is chosen. */
export function ExpiryInput({
  value,
  onChange,
  present,
  error,
  disabled = false,
}: {
  value: string | null
  onChange: (expireAt: string | null) => void
  /** What it is now, of something that is there already. */
  present?: string | null
  error?: string | undefined
  disabled?: boolean
}) {
  const [choice, setChoice] = useState(present === undefined ? 'never' : present === value ? 'present' : 'moment')
  const choose = (chosen: string) => {
    setChoice(chosen)
    if (chosen === 'present') onChange(present ?? null)
    else if (chosen === 'never') onChange(null)
    else if (chosen === 'moment') onChange(value ?? new Date(Date.now() + 30 * dayMs).toISOString())
    else onChange(new Date(Date.now() + Number(chosen) * dayMs).toISOString())
  }
  const choices = [
    ...(present === undefined
      ? []
      : [{ value: 'present', label: `As it is: ${present === null ? 'never' : exactTime(present)}` }]),
    ...(present === null ? [] : [{ value: 'never', label: 'Never' }]),
    ...presets,
    { value: 'moment', label: 'At a moment that I choose' },
  ]
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Expires"
        description="The key is refused from then on. Keys that expire limit what a lost secret can do."
        data={choices}
        value={choice}
        onChange={(event) => choose(event.currentTarget.value)}
        error={choice === 'moment' ? undefined : error}
        disabled={disabled}
      />
      {choice === 'moment' && <MomentInput value={value} onChange={onChange} error={error} disabled={disabled} />}
    </Stack>
  )
}

/** What is typed stays as it is until it is a moment; what is none when the field is left goes back to the one from before. */
function MomentInput({
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
    // The field holds no seconds: what was not changed must not lose them.
    if (typed !== present) onChange(new Date(typed).toISOString())
  }
  return (
    <TextInput
      type="datetime-local"
      label="Moment of expiry, in your time zone"
      value={text}
      onChange={({ currentTarget: { value: typed } }) => {
        setText(typed)
        // A year is typed digit by digit, from 0002 on.
        if (isMoment(typed) && typed >= '2000') take(typed)
      }}
      onBlur={() => {
        if (isMoment(text)) take(text)
        else setText(present)
      }}
      required
      withAsterisk={false}
      error={error}
      disabled={disabled}
    />
  )
}

const isMoment = (text: string): boolean => /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))

/** As the browser's own field wants it: local time without an offset. */
function localText(at: string): string {
  const moment = new Date(at)
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
