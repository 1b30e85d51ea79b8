// Entry point of the command line. `start` without options skips the option parser, which saves memory in a long-running server.
import { orExplain } from './cli/or-explain.ts'

const [command, ...rest] = process.argv.slice(2)
if (command === 'start' && rest.length === 0) await orExplain(async () => (await import('./cli/start.ts')).start())
else await (await import('./cli/program.ts')).runProgram()
