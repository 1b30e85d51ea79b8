// What worked, until the person has had time to read it: the form that asked for it may be gone by then.

export interface DoneNotice {
  id: number
  text: string
}

const shownMs = 6_000
const mostShown = 3

let notices: DoneNotice[] = []
let lastId = 0
const listeners = new Set<() => void>()

function keep(kept: DoneNotice[]): void {
  notices = kept
  for (const listener of listeners) listener()
}

export const closeNotice = (id: number): void => keep(notices.filter((notice) => notice.id !== id))

/** A short sentence without a full stop: "Pipe orders saved". */
export function tellDone(text: string): void {
  const id = ++lastId
  keep([...notices, { id, text }].slice(-mostShown))
  setTimeout(() => closeNotice(id), shownMs)
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const shownNotices = (): DoneNotice[] => notices
