// Loads the code of a page. If Penstock is unreachable, the page shows the error: the router would reload the whole console, and
// the browser would show its own error page instead.
import { PenstockError } from '../../src/client/error.ts'

export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // Penstock answers: another version was installed and the old files are gone. The router reloads the console.
    if (await doesAnswer()) throw error
    throw new PenstockError("Can't reach Penstock.", { status: 0, code: 'no_answer', cause: error })
  }
}

async function doesAnswer(): Promise<boolean> {
  try {
    return (await fetch('/health', { cache: 'no-store' })).ok
  } catch {
    return false
  }
}
