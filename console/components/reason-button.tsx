import { Button, type ButtonProps, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'

/** A button that shows its reason as a tooltip while disabled, for mouse and keyboard. */
export function ReasonButton({
  reason,
  onClick,
  children,
  ...props
}: ButtonProps & { reason: string | undefined; onClick?: () => void; children: ReactNode }) {
  if (reason === undefined) {
    return (
      <Button onClick={onClick} {...props}>
        {children}
      </Button>
    )
  }
  return (
    <Tooltip label={reason} events={{ hover: true, focus: true, touch: true }} multiline maw={280}>
      <Button {...props} data-disabled aria-disabled="true" onClick={(event) => event.preventDefault()}>
        {children}
        <span className="visually-hidden">. {reason}</span>
      </Button>
    </Tooltip>
  )
}
