// What `penstock init` and `penstock organization create` have in common: what they are told, and what they print at the end.
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import type { Initialized } from '../installation/initialize.ts'
import { StartError } from '../lib/start-error.ts'
import { signInLink } from '../sessions/session.ts'

const linkHours = 24

/** A sentence, when it is none. */
export function complainOfEmail(text: string): string | undefined {
  return /^[^\s@]+@[^\s@]+$/.test(text) ? undefined : `${JSON.stringify(text)} is not an email address.`
}

export function requireEmail(text: string): void {
  const complaint = complainOfEmail(text)
  if (complaint !== undefined) throw new StartError(complaint)
}

/** Signs the person in once; undefined when nobody has the email address. */
export function makeSignInToken({ database }: Pick<App, 'database'>, email: string): Promise<string | undefined> {
  return database.write('createSignInLink', { email, minutes: linkHours * 60 }, 'initialize')
}

/** The only time that the secret and the link are shown. */
export function printOrganization({ operations }: Config, made: Initialized, token: string): void {
  console.log(`Organization ${made.organizationId}`)
  console.log(`Admin user   ${made.adminUserId}`)
  console.log(`Key id       ${made.keyId}`)
  console.log(`Key secret   ${made.keySecret}   (shown only now)`)
  console.log(`Sign in at   ${signInLink(operations.publicUrl, token)}   (works once, within ${linkHours} hours)`)
}
