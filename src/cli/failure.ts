// Errors and exit codes of the commands that call a Penstock server (docs/reference/cli.md).
import { PenstockError } from '../client/error.ts'
import { printable } from './call-output.ts'

export const exitCodes = { ok: 0, refused: 1, usage: 2, authentication: 4 } as const

/** An error that the user can fix, in one sentence. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(sentence: string, exitCode: number) {
    super(sentence)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

export function usageFailure(sentence: string): CommandFailure {
  return new CommandFailure(sentence, exitCodes.usage)
}

/** Runs a command and sets the exit code. Does not call `process.exit`, which could cut off output to a pipe. */
export async function orFail(command: () => Promise<void>): Promise<void> {
  // The reader has closed the pipe, as in `penstock call … | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(process.exitCode ?? 0)
  })
  try {
    await command()
  } catch (error) {
    const failure = error instanceof PenstockError ? toFailure(error) : error
    if (!(failure instanceof CommandFailure)) throw error
    console.error(failure.message)
    process.exitCode = failure.exitCode
  }
}

/** Explains a 401 in terms of key id and secret instead of the header. */
export function explainKey(error: PenstockError, keyOrigin: string): PenstockError | CommandFailure {
  if (error.code !== 'unauthorized') return error
  return toFailure(
    error,
    `The key id or its secret, from ${keyOrigin}, is wrong; or the key was disabled, deleted, or has expired.`,
  )
}

function toFailure(error: PenstockError, sentence = printable(error.message)): CommandFailure {
  if (error.code === 'invalid_request') return usageFailure(sentence)
  const isAuthentication = error.status === 401 || error.status === 403
  const facts = [
    ...(error.status === 0 ? [] : [`status ${error.status}`, error.code]),
    ...(error.requestId ? [`request ${error.requestId}`] : []),
  ]
  return new CommandFailure(
    facts.length > 0 ? `${sentence}\n(${printable(facts.join(', '))})` : sentence,
    isAuthentication ? exitCodes.authentication : exitCodes.refused,
  )
}
