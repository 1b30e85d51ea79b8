// Elements in the rows of long lists, one plain element each.
import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode, Ref } from 'react'

const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey

/** Link to a console page: `to` is its path below /console. */
export function RowLink({ to, isStrong = false, children }: { to: string; isStrong?: boolean; children: ReactNode }) {
  const router = useRouter()
  const preload = () => void router.preloadRoute({ to })
  return (
    <a
      href={`/console${to}`}
      className={isStrong ? 'row-link row-strong' : 'row-link'}
      onMouseEnter={preload}
      onFocus={preload}
      onClick={(event) => {
        if (!isPlainClick(event)) return
        event.preventDefault()
        void router.navigate({ to })
      }}
    >
      {children}
    </a>
  )
}

/** A button that shows its reason as a tooltip while disabled, for mouse and keyboard. */
export function RowButton({
  label,
  reason,
  isDanger = false,
  onClick,
  children,
  ...props
}: {
  /** Accessible name: the visible text and the name of the row. */
  label: string
  reason?: string | undefined
  isDanger?: boolean
  onClick: (event: MouseEvent<HTMLButtonElement>) => void
  children: ReactNode
  ref?: Ref<HTMLButtonElement>
  'aria-haspopup'?: 'menu'
}) {
  return (
    <button
      {...props}
      type="button"
      className={isDanger ? 'row-button row-danger' : 'row-button'}
      aria-label={reason === undefined ? label : `${label}. ${reason}`}
      aria-disabled={reason === undefined ? undefined : true}
      data-tip={reason}
      onClick={(event) => {
        if (reason === undefined) onClick(event)
      }}
    >
      {children}
    </button>
  )
}
