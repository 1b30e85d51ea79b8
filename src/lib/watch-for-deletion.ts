// Detects that a file or folder in use was deleted or replaced. The operating system keeps an open file until it is closed: writes
// succeed, but are lost when the process ends.
import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'

const lookEveryMs = 1_000

export interface WatchedPath {
  path: string
  /** Watches only that the path exists. */
  mayBeReplaced?: boolean
}

/** Calls `onDeleted` at most once. Returns a function that ends the watch. */
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
    // Other errors do not mean that the file was deleted.
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}
