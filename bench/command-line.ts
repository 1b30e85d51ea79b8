// What the benchmarks ask of their command line, and how they say what they do: progress goes to stderr, so that tables can be piped.

/** Ends the program when the option is not a whole number from 1 to `most`. */
export function wholeNumber(
  name: string,
  text: string | undefined,
  { otherwise, most }: { otherwise: number; most: number },
): number {
  if (text === undefined) return otherwise
  const value = /^[1-9]\d*$/.test(text) ? Number(text) : 0
  if (value < 1 || value > most) fail(`${name} must be a number from 1 to ${most}, not ${text}`)
  return value
}

export function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function fail(sentence: string): never {
  console.error(sentence)
  process.exit(1)
}
