import { Checkbox } from '@mantine/core'

/** Switch for `source.validateSamples`: whether the source is checked before saving. */
export function CheckFirstSwitch({
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
