// The command line: picks a command.
import { Command } from 'commander'
import { type InitOptions, init } from './cli/init.ts'
import { orExplain } from './cli/serve.ts'
import { start } from './cli/start.ts'
import { tryIt } from './cli/try.ts'

const program = new Command('penstock').description('A self-hosted management plane for analytical databases.')

program
  .command('start')
  .description('run Penstock (settings come from the environment, see docs/operating.md)')
  .action(() => orExplain(start))
program
  .command('init')
  .description('set up a new Penstock: the first organization, its admin and an admin key')
  .option('--organization <name>', 'name of the organization')
  .option('--admin-name <name>', 'name of its first admin')
  .option('--admin-email <email>', 'email of the admin')
  .action((options: InitOptions) => orExplain(() => init(options)))
program
  .command('try')
  .description('run Penstock with a sample organization, to look at it')
  .action(() => orExplain(tryIt))

await program.parseAsync()
