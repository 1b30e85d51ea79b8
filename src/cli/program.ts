// Commands and their options. Each command loads only its own modules, so that the server does not load the client's and the
// client does not load the server's.
import { Command } from 'commander'
import type { AuditOptions } from './audit.ts'
import type { DoctorOptions } from './doctor.ts'
import type { InitOptions } from './init.ts'
import type { LinkOptions } from './link.ts'
import type { LoginOptions } from './login.ts'
import { orExplain } from './or-explain.ts'
import type { OrganizationOptions } from './organization.ts'
import type { StartOptions } from './start.ts'
import { readVersion } from './version.ts'

const usageExit = 2

export async function runProgram(): Promise<void> {
  const program = new Command('penstock')
    .description('A self-hosted management plane for analytical databases.')
    .version(readVersion())

  program
    .command('start')
    .description('run Penstock (settings come from the environment, see docs/reference/settings.md)')
    .option('--role <role>', 'what this process does: all (default), api or runner')
    .action((options: StartOptions) => orExplain(async () => (await import('./start.ts')).start(options)))
  program
    .command('init')
    .description('set up a new Penstock: the first organization, its admin and an admin key')
    .option('--organization <name>', 'name of the organization')
    .option('--admin-name <name>', 'name of its first admin')
    .option('--admin-email <email>', 'email of the admin')
    .action((options: InitOptions) => orExplain(async () => (await import('./init.ts')).init(options)))
  program
    .command('try')
    .description('run Penstock with a sample organization, to look at it')
    .action(() => orExplain(async () => (await import('./try.ts')).tryIt()))
  program
    .command('link')
    .description('create a link that signs a person in to the console once')
    .requiredOption('--email <email>', 'email of the person')
    .option('--minutes <number>', 'how long the link is good (default: 15)')
    .action((options: LinkOptions) => orExplain(async () => (await import('./link.ts')).link(options)))
  program
    .command('organization')
    .description('organizations of this Penstock')
    .command('create')
    .description('create another organization, with its admin and an admin key')
    .requiredOption('--name <name>', 'name of the organization')
    .requiredOption('--admin-email <email>', 'email of its admin')
    .option('--admin-name <name>', 'name of the admin, when nobody here has that email yet')
    .option('--existing-account', 'the account that has that email here is to be the admin')
    .action((options: OrganizationOptions) =>
      orExplain(async () => (await import('./organization.ts')).createOrganization(options)),
    )
  program
    .command('backup')
    .description(
      'write a consistent snapshot of everything except the master keys to a file; works while Penstock runs',
    )
    .argument('<file-or-folder>', 'a new file, or a folder to create one in')
    .action((target: string) => orExplain(async () => (await import('./backup.ts')).backup(target)))
  program
    .command('restore')
    .description('put a backup into an empty Penstock; the master key file that belongs to it must be there')
    .argument('<file>', 'a file written by "penstock backup"')
    .action((file: string) => orExplain(async () => (await import('./restore.ts')).restore(file)))
  addKeyCommands(program.command('keys').description('the master keys, which secrets are sealed with'))
  program
    .command('login')
    .description('keep the credentials for "penstock call", after checking them')
    .exitOverride(({ exitCode }) => process.exit(exitCode && usageExit))
    .option('--url <url>', 'where Penstock is')
    .option('--key-id <id>', 'id of an API key')
    .option('--key-secret-stdin', 'read the secret of the key from standard input')
    .action((options: LoginOptions) => orExplain(async () => (await import('./login.ts')).login(options)))
  program
    .command('logout')
    .description('forget the credentials that "penstock login" kept')
    .exitOverride(({ exitCode }) => process.exit(exitCode && usageExit))
    .action(() => orExplain(async () => (await import('./login.ts')).logout()))
  program
    .command('call')
    .description('call an operation of the API; without one, list all; with --help, explain it')
    .usage('[operation] [options]')
    .argument('[arguments...]')
    .allowUnknownOption()
    .helpOption(false)
    .action((args: string[]) => orExplain(async () => (await import('./call.ts')).call(args)))
  program
    .command('audit')
    .description('the record of what was done')
    .command('verify')
    .description('check that nobody has changed the activities in the database; works while Penstock runs')
    .option('--organization-id <id>', 'only those of this organization')
    .action((options: AuditOptions) => orExplain(async () => (await import('./audit.ts')).verifyAudit(options)))
  program
    .command('doctor')
    .description('check this Penstock and its environment, and print remedies; works while Penstock runs')
    .option('--json', 'for tools')
    .option('--try', 'as "npm start" runs it, which may also connect to this machine and without TLS')
    .action((options: DoctorOptions) => orExplain(async () => (await import('./doctor.ts')).doctor(options)))

  await program.parseAsync()
}

function addKeyCommands(keys: Command): void {
  keys
    .command('list')
    .description('show the ids of the keys, which is the current one, and how many values are sealed with each')
    .action(() => orExplain(async () => (await import('./keys.ts')).listKeys()))
  keys
    .command('add')
    .description('add a key that becomes the current one with the next rotation')
    .action(() => orExplain(async () => (await import('./keys.ts')).add()))
  keys
    .command('rotate')
    .description(
      'make another key the current one, and seal everything again with it; run again to finish an interrupted rotation',
    )
    .action(() => orExplain(async () => (await import('./keys.ts')).rotate()))
  keys
    .command('remove')
    .description('remove a key that nothing is sealed with any more')
    .argument('<id>', 'as "penstock keys list" shows it')
    .action((id: string) => orExplain(async () => (await import('./keys.ts')).remove(id)))
}
