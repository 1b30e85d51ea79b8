import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Asks for missing options at the terminal. Create one per command: while it is open, the terminal's own echo is off. */
export class Questions {
  readonly #failure: (sentence: string) => Error
  #silent = false
  #terminal: Interface | undefined

  /** `failure` creates the error of the command. */
  constructor(failure: (sentence: string) => Error) {
    this.#failure = failure
  }

  /** `option` is named in the error when there is no terminal. */
  async ask(option: string, question: string, { otherwise = '', hidden = false } = {}): Promise<string> {
    if (!process.stdin.isTTY) throw this.#failure(`${option} is missing.`)
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#silent) process.stdout.write(chunk)
        done()
      },
    })
    this.#terminal ??= createInterface({ input: process.stdin, output, terminal: true })
    const answer = this.#terminal.question(`${question}: `)
    this.#silent = hidden
    // Ctrl+C and Ctrl+D close the terminal, and the question would never resolve.
    const ended = once(this.#terminal, 'close').then(() => Promise.reject(this.#failure('\nNothing was changed.')))
    const text = (await Promise.race([answer.catch(() => ended), ended])).trim() || otherwise
    this.#silent = false
    if (hidden) process.stdout.write('\n')
    return text
  }

  close(): void {
    this.#terminal?.close()
  }
}
