// A window above the page. It cannot be closed while what it asked for is being sent: the answer would come to nobody, and
// some answers are shown only once.
import { Modal, type ModalProps } from '@mantine/core'
import { createContext, use, useEffect, useState } from 'react'

const HoldContext = createContext<((isHeld: boolean) => void) | undefined>(undefined)

/** Called by what stands in a dialog: it stays open while this is true. */
export function useHoldOpen(isHeld: boolean): void {
  const hold = use(HoldContext)
  useEffect(() => {
    hold?.(isHeld)
    return () => hold?.(false)
  }, [hold, isHeld])
}

export function Dialog({ opened, onClose, closeButtonProps, children, ...props }: ModalProps) {
  const [isHeld, setHeld] = useState(false)
  // The focus goes back on closing only to where it was when `opened` turned true, so that must not be so from the first render.
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(opened), [opened])
  return (
    <Modal
      {...props}
      opened={isOpen}
      onClose={() => {
        if (!isHeld) onClose()
      }}
      closeButtonProps={{ 'aria-label': 'Close', ...closeButtonProps, disabled: isHeld }}
    >
      <HoldContext value={setHeld}>{children}</HoldContext>
    </Modal>
  )
}
