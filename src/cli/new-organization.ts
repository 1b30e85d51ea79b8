// Input checks and output shared by `penstock init` and `penstock organization create`.
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import type { Initialized } from '../installation/initialize.ts'
import { StartError } from '../lib/start-error.ts'
import { signInLink } from '../sessions/session.ts'

const linkHours = 24

/** Error message for an invalid email address. */
export function emailError(text: string): string | undefined {
  return /^[^\s@]+@[^\s@]+$/.test(text) ? undefined : `${JSON.stringify(text)} is not an email address.`
}

export function requireEmail(text: string): void {
  const complaint = emailError(text)
  if (complaint !== undefined) throw new StartError(complaint)
}

/** Creates a one-time sign-in token; undefined when nobody has the email address. */
export function makeSignInToken({ database }: Pick<App, 'database'>, email: string): Promise<string | undefined> {
  return database.write('createSignInLink', { email, minutes: linkHours * 60 }, 'initialize')
}

/** The secret and the link are shown only here. */
export function printOrganization({ operations }: Config, made: Initialized, token: string): void {
  console.log(`Organization ${made.organizationId}`)
  console.log(`Admin user   ${made.adminUserId}`)
  console.log(`Key id       ${made.keyId}`)
  console.log(`Key secret   ${made.keySecret}   (shown only now)`)
  console.log(`Sign in at   ${signInLink(operations.publicUrl, token)}   (works once, within ${linkHours} hours)`)
}
