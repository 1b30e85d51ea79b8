import { readConfig } from '../config.ts'
import type { KnownAccount } from '../installation/initialize.ts'
import { StartError } from '../lib/start-error.ts'
import { printable } from './call-output.ts'
import { makeSignInToken, printOrganization, requireEmail } from './new-organization.ts'
import { openSetUp } from './open-set-up.ts'

export interface OrganizationOptions {
  name: string
  adminEmail: string
  adminName?: string
  existingAccount?: boolean
}

const mostNamesListed = 5

/** Creates another organization. Its admin is a new account, or an existing one that the operator has confirmed. */
export async function createOrganization(options: OrganizationOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const email = options.adminEmail.trim()
  requireEmail(email)
  const organizationName = options.name.trim()
  if (organizationName === '') throw new StartError('--name must not be empty.')
  const app = await openSetUp(config)
  try {
    const isForExistingAccount = options.existingAccount ?? false
    const adminName = options.adminName?.trim() ?? ''
    const order = { organizationName, adminEmail: email, adminName, isForExistingAccount }
    const answer = await app.database.write('addOrganization', order, 'organization')
    if (!('made' in answer)) {
      if (answer.known) throw alreadyKnown(answer.known)
      const remedy = isForExistingAccount
        ? 'leave out --existing-account, and say --admin-name'
        : 'say --admin-name too'
      throw new StartError(`Nobody here has the email address ${JSON.stringify(email)}: ${remedy}.`)
    }
    printOrganization(config, answer.made, (await makeSignInToken(app, email))!)
  } finally {
    await app.close()
  }
}

/** Describes the account, so that the operator can check whose it is. */
function alreadyKnown({ name, email, createdAt, organizationNames }: KnownAccount): StartError {
  const listed = organizationNames.slice(0, mostNamesListed).map((each) => JSON.stringify(each))
  const more = organizationNames.length - listed.length
  const membership =
    listed.length === 0
      ? 'a member of no organization'
      : `a member of ${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return new StartError(
    printable(
      `${JSON.stringify(email)} is the account of ${JSON.stringify(name)}, here since ${createdAt.slice(0, 10)}, ${membership}. ` +
        'If that is the admin you mean, say --existing-account; nothing was created.',
    ),
  )
}
