import { createInterface } from 'node:readline/promises'
import type { App } from '../app.ts'
import { readConfig } from '../config.ts'
import type { FirstOrganization, Initialized } from '../installation/initialize.ts'
import { StartError } from '../lib/start-error.ts'
import { makeSignInToken, printOrganization, requireEmail } from './new-organization.ts'
import { open } from './serve.ts'

export interface InitOptions {
  organization?: string
  adminName?: string
  adminEmail?: string
}

/** Makes the master key, the first organization, its admin and an admin key. */
export async function init(options: InitOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const first = {
    organizationName: await answer(options.organization, '--organization', 'Name of the organization'),
    adminName: await answer(options.adminName, '--admin-name', 'Name of its first admin'),
    adminEmail: await answer(options.adminEmail, '--admin-email', 'Email of the admin'),
  }
  requireEmail(first.adminEmail)
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

async function answer(given: string | undefined, option: string, question: string): Promise<string> {
  if (given?.trim()) return given.trim()
  if (!process.stdin.isTTY) throw new StartError(`${option} is missing.`)
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const text = (await terminal.question(`${question}: `)).trim()
  terminal.close()
  if (text === '') throw new StartError(`${option} must not be empty.`)
  return text
}
