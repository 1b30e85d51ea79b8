import { type Role, readConfig, roles } from '../config.ts'
import { StartError } from '../lib/start-error.ts'
import { open, runUntilStopped, serve } from './serve.ts'

export interface StartOptions {
  role?: string
}

/** Production mode: creates no sample and no keys. */
export async function start({ role = 'all' }: StartOptions = {}): Promise<void> {
  const config = { ...readConfig(process.env, { logLevel: 'info' }), role: readRole(role) }
  if (config.role === 'runner' && !config.databaseUrl) {
    throw new StartError(
      '--role runner needs PostgreSQL (DATABASE_URL): with SQLite one process does everything; start it without --role.',
    )
  }
  const serving = await open(config, { mayCreateKeys: false })
  if (serving.app.isNew) {
    await serving.app.close()
    throw new StartError(
      'This Penstock has not been set up yet. Run "penstock init" first; it creates the first organization and admin key.',
    )
  }
  await runUntilStopped(serving, {
    start: async () => {
      await serve(serving)
    },
  })
}

function readRole(text: string): Role {
  const role = roles.find((known) => known === text)
  if (!role) throw new StartError(`--role must be one of ${roles.join(', ')}, not ${JSON.stringify(text)}.`)
  return role
}
