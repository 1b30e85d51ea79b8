import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useState } from 'react'

/** Password input with a toggle to show it, so that it is typed only once. */
export function PasswordField(
  props: Omit<PasswordInputProps, 'visible' | 'onVisibilityChange'> & {
    autoComplete: 'current-password' | 'new-password'
  },
) {
  const [isVisible, setVisible] = useState(false)
  return (
    <PasswordInput
      aria-invalid={props.error ? true : undefined}
      {...props}
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{
        'aria-label': isVisible ? 'Hide the password' : 'Show the password',
        'aria-hidden': false,
      }}
    />
  )
}
