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

const mostNamesTold = 5

/** One more organization in a Penstock that has been set up. Its admin is somebody new, or one whom the operator says they know. */
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
      const mend = isForExistingAccount ? 'leave out --existing-account, and say --admin-name' : 'say --admin-name too'
      throw new StartError(`Nobody here has the email address ${JSON.stringify(email)}: ${mend}.`)
    }
    printOrganization(config, answer.made, (await makeSignInToken(app, email))!)
  } finally {
    await app.close()
  }
}

/** So that the operator can judge whether this is the person they mean. */
function alreadyKnown({ name, email, createdAt, organizationNames }: KnownAccount): StartError {
  const told = organizationNames.slice(0, mostNamesTold).map((each) => JSON.stringify(each))
  const more = organizationNames.length - told.length
  const membership =
    told.length === 0
      ? 'a member of no organization'
      : `a member of ${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return new StartError(
    printable(
      `${JSON.stringify(email)} is the account of ${JSON.stringify(name)}, here since ${createdAt.slice(0, 10)}, ${membership}. ` +
        'If that is the admin you mean, say --existing-account; nothing was made.',
    ),
  )
}
