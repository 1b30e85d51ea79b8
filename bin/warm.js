// Run once after an install from source: has Node keep what it makes of the TypeScript files, for a quick and small first start.
import { fileURLToPath } from 'node:url'
import { launch, mainFile } from './launch.js'

if (process.argv[2] !== 'launched') launch(fileURLToPath(import.meta.url), ['launched'])
else {
  for (const file of ['cli/start', 'cli/try', 'cli/init', 'cli/call', 'cli/login', 'writer'])
    await import(`../src/${file}.ts`)
  // The main file runs as it is loaded: it gets something harmless to do, which ends the process.
  process.argv[2] = '--help'
  process.stdout.write = () => true
  await import(mainFile)
}
