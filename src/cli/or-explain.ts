import { Problem } from '../lib/problem.ts'
import { StartError } from '../lib/start-error.ts'

export const exitSoftware = 70

/** Prints one sentence for errors that the user can fix, and a stack trace for defects; exits with a non-zero code. */
export async function orExplain(command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (error) {
    if (error instanceof StartError) {
      console.error(error.message)
      process.exit(1)
    }
    if (error instanceof Problem && error.code === 'unavailable') {
      console.error(
        'The database cannot be used right now: its disk is full or failing, or it is unreachable. Try again later.',
      )
      // A failed sync ends the process earlier, with its own exit code.
      setTimeout(() => process.exit(1), 200)
      return
    }
    console.error('This is a defect of Penstock:', error)
    process.exit(exitSoftware)
  }
}
