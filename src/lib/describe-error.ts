// Loggable fields of an unexpected error. Separate from the log, because threads send errors to the main thread, which alone writes
// logs.

export interface ErrorFields {
  name: string
  code?: string
  at?: string[]
}

/** The fields of an error that may be logged: never its message. */
export function describeError(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = (error as { code?: unknown }).code
  // The message precedes the frames, and may have lines that look like frames.
  const { stack = '', message } = error
  const begin = stack.indexOf(message) + message.length
  const frames = stack
    .slice(begin)
    .split('\n')
    .filter((line) => line.startsWith('    at '))
  return {
    name: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code) } : {}),
    at: frames.slice(0, 12).map((line) => line.trim().slice(3)),
  }
}
