import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Asks at the terminal for what was not told. It is made once: while it is open, the terminal itself echoes nothing. */
export class Questions {
  readonly #failure: (sentence: string) => Error
  #silent = false
  #terminal: Interface | undefined

  /** `failure` makes the error that the command ends with. */
  constructor(failure: (sentence: string) => Error) {
    this.#failure = failure
  }

  /** `option` is what tells it where there is no terminal. */
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
    // Ctrl+C and Ctrl+D close it, and the question would never be answered.
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
