// Modal dialog. It cannot be closed while its request is being sent, because some responses are shown only once.
import { Modal, type ModalProps } from '@mantine/core'
import { createContext, use, useEffect, useState } from 'react'

const HoldContext = createContext<((isHeld: boolean) => void) | undefined>(undefined)

/** Keeps the surrounding dialog open while `isHeld` is true. */
export function useHoldOpen(isHeld: boolean): void {
  const hold = use(HoldContext)
  useEffect(() => {
    hold?.(isHeld)
    return () => hold?.(false)
  }, [hold, isHeld])
}

export function Dialog({ opened, onClose, closeButtonProps, children, ...props }: ModalProps) {
  const [isHeld, setHeld] = useState(false)
  // On closing, the focus returns to the element that had it when `opened` became true, so `opened` must not start as true.
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
