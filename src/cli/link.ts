import { readConfig } from '../config.ts'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { StartError } from '../lib/start-error.ts'
import { signInLink } from '../sessions/session.ts'
import { openSetUp } from './open-set-up.ts'

export interface LinkOptions {
  email: string
  minutes?: string
}

const defaultMinutes = '15'
const mostMinutes = 10_080

/** Signs in a person without a password. No further check: whoever may run this command can read the data anyway. */
export async function link({ email, minutes = defaultMinutes }: LinkOptions): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  if (!/^[1-9]\d{0,4}$/.test(minutes) || Number(minutes) > mostMinutes) {
    throw new StartError(`--minutes must be a number from 1 to ${mostMinutes}, not ${JSON.stringify(minutes)}.`)
  }
  const app = await openSetUp(config)
  const order = { email: email.trim(), minutes: Number(minutes) }
  const token = await app.database.write('createSignInLink', order, 'link').finally(() => app.close())
  if (!token) throw new StartError(`Nobody here has the email address ${JSON.stringify(order.email)}.`)
  console.log(signInLink(config.operations.publicUrl, token))
  console.log(`It signs ${asciiLowerCase(order.email)} in once, within ${minutes} minutes.`)
}
