import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Explains why this user has no access to a file or folder, and the fix, as the end of a sentence. */
export function explainNoAccess(path: string): string {
  const { found, stats } = firstVisible(path)
  const userId = process.geteuid?.()
  if (stats.uid !== userId) {
    return `${found} belongs to user ${stats.uid}, and this is run by user ${userId}. Run it as user ${stats.uid}`
  }
  return `${found} is closed to its owner. Run "chmod u+rw${stats.isDirectory() ? 'x' : ''} ${found}"`
}

/** The file itself, or the nearest parent folder that can be examined. */
function firstVisible(path: string): { found: string; stats: Stats } {
  try {
    return { found: path, stats: statSync(path) }
  } catch (error) {
    if (dirname(path) === path) throw error
    return firstVisible(dirname(path))
  }
}
