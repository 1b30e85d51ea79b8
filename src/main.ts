// The command line. A bare `start`, which is how a server runs for months, has nothing to parse: it does not load what
// reads options.
import { orExplain } from './cli/or-explain.ts'

const [command, ...rest] = process.argv.slice(2)
if (command === 'start' && rest.length === 0) await orExplain(async () => (await import('./cli/start.ts')).start())
else await (await import('./cli/program.ts')).runProgram()
