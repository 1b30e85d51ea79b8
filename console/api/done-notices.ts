// Success messages. They stay visible after the form that caused them is closed.

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
export function notifyDone(text: string): void {
  const id = ++lastId
  keep([...notices, { id, text }].slice(-mostShown))
  setTimeout(() => closeNotice(id), shownMs)
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const shownNotices = (): DoneNotice[] => notices
