// Notices that a file or folder that this process works with was deleted or replaced. The operating system keeps an open file until it
// is closed: writes to it succeed, and are gone with the process.
import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'

const lookEveryMs = 1_000

export interface WatchedPath {
  path: string
  /** Only that there is one is watched. */
  mayBeReplaced?: boolean
}

/** Calls `onDeleted` once at most. Returns what ends the watch. */
export function watchForDeletion(watched: WatchedPath[], onDeleted: () => void): () => void {
  const known = watched.map(({ path, mayBeReplaced = false }) => {
    const stats = statSync(path, { bigint: true })
    return { path, isKnown: (found: Identity) => mayBeReplaced || isSame(found, stats) }
  })
  let isWatching = true
  let isLooking = false
  const timer = setInterval(async () => {
    if (isLooking) return
    isLooking = true
    const kept = await Promise.all(known.map(({ path, isKnown }) => isKept(path, isKnown)))
    isLooking = false
    if (kept.every(Boolean) || !isWatching) return
    end()
    onDeleted()
  }, lookEveryMs)
  timer.unref()
  const end = (): void => {
    isWatching = false
    clearInterval(timer)
  }
  return end
}

interface Identity {
  dev: bigint
  ino: bigint
}

function isSame(one: Identity, other: Identity): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

async function isKept(path: string, isKnown: (found: Identity) => boolean): Promise<boolean> {
  try {
    return isKnown(await stat(path, { bigint: true }))
  } catch (error) {
    // Any other error says nothing of the file.
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}
