// node --import ./test/run/mutate.ts: replaces one source file by the mutant that PENSTOCK_TEST_MUTANT names, in this thread. Worker
// threads and child processes inherit the import, and so the mutant.
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { readMutated } from './mutants/mutant.ts'
import { mutants } from './mutants.ts'

const name = process.env.PENSTOCK_TEST_MUTANT
if (name !== undefined) {
  const mutant = mutants.find((each) => each.name === name)
  if (!mutant) throw new Error(`there is no mutant ${name}`)
  const root = new URL('../..', import.meta.url)
  const target = new URL(mutant.file, root).href
  const source = readMutated(fileURLToPath(root), mutant)
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context)
      return url === target ? { ...loaded, source } : loaded
    },
  })
}
