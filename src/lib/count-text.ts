// Formats counts for sentences.

let numbers: Intl.NumberFormat | undefined

/** `1 row`, `120,000 rows`. */
export function countOf(count: number, noun: string): string {
  // Created on first use: it takes twenty milliseconds, and every process loads this file.
  numbers ??= new Intl.NumberFormat('en-US')
  return `${numbers.format(count)} ${noun}${count === 1 ? '' : 's'}`
}
