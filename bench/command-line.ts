// Command line of the benchmarks. Progress goes to stderr, so that the tables on stdout can be piped.

/** Exits with an error unless the option is an integer from 1 to `most`. */
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
