import { Button, Stack } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'
import { ChevronIcon } from './icons.tsx'

/** Rarely used content. Opens automatically when it has an error. */
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
