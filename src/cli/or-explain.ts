import { Problem } from '../lib/problem.ts'
import { StartError } from '../lib/start-error.ts'

export const exitSoftware = 70

/** One clear sentence and a non-zero exit for what the user can mend; the trace only for what is our own mistake. */
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
        'The database cannot be used right now: its disk is full or fails, or it is away. Try again in a moment.',
      )
      // A sync that failed is under way to end the process with a code of its own.
      setTimeout(() => process.exit(1), 200)
      return
    }
    console.error('This is a defect of Penstock:', error)
    process.exit(exitSoftware)
  }
}
