// Menu of one row, rendered only while it is open.
import { Menu } from '@mantine/core'
import type { ReactNode } from 'react'

export function RowMenu({
  opener,
  label,
  onClose,
  children,
}: {
  /** The button that opened the menu: its position and focus target. */
  opener: HTMLElement
  label: string
  onClose: () => void
  children: ReactNode
}) {
  const { left, top, width, height } = opener.getBoundingClientRect()
  return (
    <Menu
      opened
      position="bottom-end"
      width={220}
      withInitialFocusPlaceholder={false}
      transitionProps={{ duration: 0 }}
      onChange={(isOpen) => {
        if (isOpen) return
        onClose()
        opener.focus({ preventScroll: true })
      }}
    >
      <Menu.Target>
        <span aria-hidden style={{ position: 'fixed', left, top, width, height, pointerEvents: 'none' }}>
          <span className="visually-hidden">{label}</span>
        </span>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  )
}
