// How the commands that talk to a Penstock end: what is told, and with which exit code (docs/cli.md).
import { PenstockError } from '../client/error.ts'
import { printable } from './call-output.ts'

export const exitCodes = { ok: 0, refused: 1, usage: 2, authentication: 4 } as const

/** What the person at the terminal can mend, in a sentence. */
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

/** Runs a command and sets the exit code. Never `process.exit`: what was printed into a pipe may still be on its way. */
export async function orFail(command: () => Promise<void>): Promise<void> {
  // Who reads our output has seen enough, as in `penstock call … | head`.
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

/** For an answer to a key: people at a terminal know its parts, not the header that they are sent in. */
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
