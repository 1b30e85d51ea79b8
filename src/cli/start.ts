import { readConfig } from '../config.ts'
import { StartError } from '../lib/start-error.ts'
import { open, serve } from './serve.ts'

/** Production: no sample, nothing created. */
export async function start(): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'info' })
  const serving = await open(config, { mayCreateKeys: false })
  if (serving.app.isNew) {
    await serving.app.close()
    throw new StartError(
      'This Penstock has not been set up yet. Run "penstock init" first; it makes the first organization and admin key.',
    )
  }
  await serve(serving)
}
