import { TagsInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { type FormError, otherErrors, type Path } from './form-error.ts'

/** Input for a list of texts, each completed with Enter or a comma. */
export function TextListInput({
  label,
  'aria-label': ariaLabel,
  about,
  value,
  onChange,
  error,
  path,
  placeholder,
  disabled = false,
}: {
  label: string
  'aria-label'?: string
  about?: ReactNode
  value: string[]
  onChange: (texts: string[]) => void
  error?: FormError
  /** Path of the list in the body. */
  path: Path
  placeholder?: string
  disabled?: boolean
}) {
  return (
    <TagsInput
      label={label}
      aria-label={ariaLabel}
      description={about}
      value={value}
      onChange={onChange}
      error={otherErrors(error, path, [])}
      placeholder={value.length === 0 ? (placeholder ?? 'Type, then press Enter') : undefined}
      disabled={disabled}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
