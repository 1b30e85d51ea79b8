// Defects of the console.
import type { Mutant } from './mutant.ts'

export const consoleMutants: Mutant[] = [
  {
    name: 'console-repeats-with-a-new-key',
    file: 'console/api/form-client.ts',
    find: 'this.#last?.request === request ? this.#last :',
    replace: 'this.#last?.request === request && this.#last === undefined ? this.#last :',
    tests: ['console/api/form-client.test.ts'],
  },
]
