// Fills Node's compile cache after an install from source, so that the first start is faster and needs less memory.
import { fileURLToPath } from 'node:url'
import { launch, mainFile } from './launch.js'

if (process.argv[2] !== 'launched') launch(fileURLToPath(import.meta.url), ['launched'])
else {
  for (const file of ['cli/start', 'cli/try', 'cli/init', 'cli/call', 'cli/login', 'execution/writer'])
    await import(`../src/${file}.ts`)
  // Importing the main file runs it: `--help` has no side effects and ends the process.
  process.argv[2] = '--help'
  process.stdout.write = () => true
  await import(mainFile)
}
