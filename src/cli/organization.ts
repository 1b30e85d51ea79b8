import { readConfig } from '../config.ts'
import { StartError } from '../lib/start-error.ts'
import { signInLink } from '../sessions/session.ts'
import { openSetUp } from './open-set-up.ts'

export interface OrganizationOptions {
  name: string
  adminEmail: string
  adminName?: string
}

const linkHours = 24

/** One more organization in a Penstock that has been set up. Its admin may be somebody whom other organizations know. */
export async function createOrganization(options: OrganizationOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const email = options.adminEmail.trim()
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new StartError(`${JSON.stringify(email)} is not an email address.`)
  const organizationName = options.name.trim()
  if (organizationName === '') throw new StartError('--name must not be empty.')
  const app = await openSetUp(config)
  try {
    const made = await app.database.write(
      'addOrganization',
      { organizationName, adminEmail: email, adminName: options.adminName?.trim() ?? '' },
      'organization',
    )
    if (!made) throw new StartError(`Nobody here has the email address ${JSON.stringify(email)}: say --admin-name too.`)
    const link = await app.database.write('createSignInLink', { email, minutes: linkHours * 60 }, 'organization')
    console.log(`Organization ${made.organizationId}`)
    console.log(`Admin user   ${made.adminUserId}`)
    console.log(`Key id       ${made.keyId}`)
    console.log(`Key secret   ${made.keySecret}   (shown only now)`)
    console.log(
      `Sign in at   ${signInLink(config.operations.publicUrl, link!)}   (works once, within ${linkHours} hours)`,
    )
  } finally {
    await app.close()
  }
}
