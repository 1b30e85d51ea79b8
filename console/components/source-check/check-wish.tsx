import { Checkbox } from '@mantine/core'

/** Whether the source is tried before anything is kept (`source.validateSamples`). */
export function CheckWish({
  value,
  onChange,
  about,
  error,
}: {
  value: boolean
  onChange: (isWished: boolean) => void
  about: string
  error?: string | undefined
}) {
  return (
    <Checkbox
      label="Check the source before saving"
      description={about}
      checked={value}
      onChange={({ currentTarget: { checked } }) => onChange(checked)}
      error={error}
    />
  )
}
