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
    console.error('This is a defect of Penstock:', error)
    process.exit(exitSoftware)
  }
}
