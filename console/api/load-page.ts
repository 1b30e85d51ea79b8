// Loads the code of a page. When that fails because Penstock cannot be reached, the page says so itself: the router would load
// the whole console again, and the browser would show its own error page in place of it.
import { PenstockError } from '../../src/client/error.ts'

export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // It answers: another version was installed, and the old files are gone. Loading all of it again helps.
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
