import { CloseButton } from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { closeNotice, shownNotices, subscribe } from '../api/done-notices.ts'
import { CheckIcon } from './icons.tsx'

/** Rendered once, outside the pages. The live region always exists, because screen readers announce only changes within one. */
export function DoneNotices() {
  const shown = useSyncExternalStore(subscribe, shownNotices)
  return (
    <div role="status" className="done-notices">
      {shown.map(({ id, text }) => (
        <div key={id} className="done-notice">
          <CheckIcon size={18} />
          <span>{text}</span>
          <CloseButton size="sm" aria-label="Close this message" onClick={() => closeNotice(id)} />
        </div>
      ))}
    </div>
  )
}
