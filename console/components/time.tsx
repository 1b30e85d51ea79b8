import { useSyncExternalStore } from 'react'
import { exactTime } from './exact-time.ts'
import { relativeTime } from './relative-time.ts'

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** One timer for all times on the page. Only changed texts are rendered again. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const notify of listeners) notify()
  }, 30_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Relative time, with the exact time as a tooltip. */
export function Time({ at }: { at: string }) {
  const words = useSyncExternalStore(subscribe, () => relativeTime(Date.parse(at), Date.now()))
  return (
    <time dateTime={at} data-tip={exactTime(at)} className="no-wrap">
      {words}
    </time>
  )
}
