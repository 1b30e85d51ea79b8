// Inputs for secrets, and for multi-line keys and certificates.
import { Button, Group, PasswordInput, Stack, Textarea } from '@mantine/core'
import { type ReactNode, useState } from 'react'

/** A secret, hidden by default and not stored by the browser. */
export function SecretInput({
  label,
  about,
  value,
  onChange,
  error,
  placeholder,
  required,
  disabled = false,
  isMultiline = false,
}: {
  label: string
  about?: ReactNode
  value: string
  onChange: (secret: string) => void
  error?: string | undefined
  placeholder?: string
  required?: boolean
  disabled?: boolean
  /** For private keys, whose line breaks matter. */
  isMultiline?: boolean
}) {
  const [isVisible, setVisible] = useState(false)
  const showLabel = `${isVisible ? 'Hide' : 'Show'} ${label.toLowerCase()}`
  const common = { label, description: about, value, error, placeholder, required, disabled, spellCheck: false }
  if (isMultiline) {
    return (
      <Stack gap={4} align="stretch">
        <Textarea
          {...common}
          autosize
          minRows={3}
          maxRows={12}
          autoComplete="off"
          onChange={({ currentTarget: { value } }) => onChange(value)}
          classNames={{ input: isVisible || value === '' ? 'pem-input' : 'pem-input hidden-text' }}
        />
        {value !== '' && (
          <Group>
            <Button
              variant="subtle"
              size="compact-xs"
              onClick={() => setVisible(!isVisible)}
              disabled={disabled}
              aria-pressed={isVisible}
            >
              {showLabel}
            </Button>
          </Group>
        )}
      </Stack>
    )
  }
  return (
    <PasswordInput
      {...common}
      aria-invalid={error ? true : undefined}
      // A password of another system: password managers must not fill or store it.
      autoComplete="off"
      data-1p-ignore
      data-lpignore="true"
      onChange={({ currentTarget: { value } }) => onChange(value)}
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': showLabel, 'aria-hidden': false }}
    />
  )
}

/** Multi-line text that is not secret, such as a certificate. */
export function PemInput({
  label,
  about,
  value,
  onChange,
  error,
  required,
  disabled = false,
}: {
  label: string
  about?: ReactNode
  value: string
  onChange: (text: string) => void
  error?: string | undefined
  required?: boolean
  disabled?: boolean
}) {
  return (
    <Textarea
      label={label}
      description={about}
      value={value}
      onChange={({ currentTarget: { value } }) => onChange(value)}
      error={error}
      required={required}
      disabled={disabled}
      placeholder="-----BEGIN CERTIFICATE-----"
      autosize
      minRows={3}
      maxRows={12}
      autoComplete="off"
      spellCheck={false}
      classNames={{ input: 'pem-input' }}
    />
  )
}
