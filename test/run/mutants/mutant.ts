// An intentional defect: a piece of source text and its replacement.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Mutant {
  name: string
  /** Relative to the project. */
  file: string
  /** Must be in the file exactly once. */
  find: string
  replace: string
  /** Test files, each of which must fail. */
  tests: string[]
  /** Runs with every commit, not only with an eighth of them. */
  everyCommit?: true
}

/** The source of the file with the mutant applied. Throws if the mutant does not match the code any more. */
export function readMutated(root: string, mutant: Mutant): string {
  const source = readFileSync(join(root, mutant.file), 'utf8')
  const found = source.split(mutant.find).length - 1
  if (found !== 1) throw new Error(`the mutant ${mutant.name} finds its text ${found} times in ${mutant.file}`)
  return source.replace(mutant.find, () => mutant.replace)
}
