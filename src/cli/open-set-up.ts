// Opens an initialized Penstock for commands that change its data.
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import { DataInUseError, StartError } from '../lib/start-error.ts'
import { open } from './serve.ts'

export async function openSetUp(config: Config): Promise<App> {
  const { app } = await open(config, { mayCreateKeys: false }).catch((error: unknown) => {
    if (!(error instanceof DataInUseError)) throw error
    throw new StartError(
      'Penstock is running on this data, and with SQLite only one process may write it. Stop Penstock, run this command, and ' +
        'start it again; with PostgreSQL (DATABASE_URL) the command can be run while Penstock runs.',
    )
  })
  if (!app.isNew) return app
  await app.close()
  throw new StartError(
    'This Penstock has not been set up yet. Run "penstock init" first; it prints a link for the admin.',
  )
}
