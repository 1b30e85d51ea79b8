import { createInterface } from 'node:readline/promises'
import type { App } from '../app.ts'
import { readConfig } from '../config.ts'
import type { FirstOrganization, Initialized } from '../installation/initialize.ts'
import { StartError } from '../lib/start-error.ts'
import { signInLink } from '../sessions/session.ts'
import { open } from './serve.ts'

export interface InitOptions {
  organization?: string
  adminName?: string
  adminEmail?: string
}

const linkHours = 24

/** Makes the master key, the first organization, its admin and an admin key. */
export async function init(options: InitOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const first = {
    organizationName: await answer(options.organization, '--organization', 'Name of the organization'),
    adminName: await answer(options.adminName, '--admin-name', 'Name of its first admin'),
    adminEmail: await answer(options.adminEmail, '--admin-email', 'Email of the admin'),
  }
  if (!/^[^\s@]+@[^\s@]+$/.test(first.adminEmail))
    throw new StartError(`${JSON.stringify(first.adminEmail)} is not an email address.`)
  const { app } = await open(config, { mayCreateKeys: true })
  const { made, token } = await setUp(app, first).finally(() => app.close())
  if (!made) throw new StartError('This Penstock has been set up already; its data was left as it is.')
  console.log(`Organization ${made.organizationId}`)
  console.log(`Admin user   ${made.adminUserId}`)
  console.log(`Key id       ${made.keyId}`)
  console.log(`Key secret   ${made.keySecret}   (shown only now)`)
  console.log(
    `Sign in at   ${signInLink(config.operations.publicUrl, token!)}   (works once, within ${linkHours} hours)`,
  )
  console.log(
    `\nBack up ${config.masterKeyFile}: without it the stored secrets cannot be read. Then run "penstock start".`,
  )
}

async function setUp({ database }: App, first: FirstOrganization): Promise<{ made?: Initialized; token?: string }> {
  const made = await database.write('initialize', first, 'initialize')
  if (!made) return {}
  const link = { email: first.adminEmail, minutes: linkHours * 60 }
  return { made, token: (await database.write('createSignInLink', link, 'initialize'))! }
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
