import type { App } from '../app.ts'
import { readConfig } from '../config.ts'
import type { FirstOrganization, Initialized } from '../installation/initialize.ts'
import { StartError } from '../lib/start-error.ts'
import { emailError, makeSignInToken, printOrganization, requireEmail } from './new-organization.ts'
import { Questions } from './questions.ts'
import { open } from './serve.ts'

export interface InitOptions {
  organization?: string
  adminName?: string
  adminEmail?: string
}

/** Creates the master key, the first organization, its admin and an admin key. */
export async function init(options: InitOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const first = await askForMissing(options)
  const { app } = await open(config, { mayCreateKeys: true })
  const { made, token } = await setUp(app, first).finally(() => app.close())
  if (!made) throw new StartError('This Penstock has been set up already; its data was left as it is.')
  printOrganization(config, made, token!)
  console.log(
    `\nBack up ${config.masterKeyFile}: without it the stored secrets cannot be read. Then run "penstock start".`,
  )
}

async function setUp(app: App, first: FirstOrganization): Promise<{ made?: Initialized; token?: string }> {
  const made = await app.database.write('initialize', first, 'initialize')
  if (!made) return {}
  return { made, token: (await makeSignInToken(app, first.adminEmail))! }
}

async function askForMissing(options: InitOptions): Promise<FirstOrganization> {
  const organizationName = options.organization?.trim()
  const adminName = options.adminName?.trim()
  const adminEmail = options.adminEmail?.trim()
  // Checked before any question, so that no answers are lost.
  if (adminEmail) requireEmail(adminEmail)
  const questions = new Questions((sentence) => new StartError(sentence))
  const ask = async (option: string, question: string, complain: (text: string) => string | undefined) => {
    for (;;) {
      const text = await questions.ask(option, question)
      const complaint = complain(text)
      if (complaint === undefined) return text
      console.error(complaint)
    }
  }
  try {
    return {
      organizationName: organizationName || (await ask('--organization', 'Name of the organization', emptyError)),
      adminName: adminName || (await ask('--admin-name', 'Name of its first admin', emptyError)),
      adminEmail: adminEmail || (await ask('--admin-email', 'Email of the admin', emailError)),
    }
  } finally {
    questions.close()
  }
}

function emptyError(text: string): string | undefined {
  return text === '' ? 'It must not be empty.' : undefined
}
