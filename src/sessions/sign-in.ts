import { asciiLowerCase } from '../lib/ascii-case.ts'
import { networkOf } from '../lib/ip-range.ts'
import type { PasswordCaller } from '../lib/password.ts'
import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { openSession } from './open-session.ts'
import { deviceIdOf, newDeviceToken, signInFailed } from './session.ts'
import { findPersonByEmail, lockPerson } from './store.ts'

export const signIn = consoleAction({
  id: 'signIn',
  method: 'POST',
  path: '/console/api/session',
  access: 'anyone',
  body: Type.Object(
    {
      email: Type.String({ maxLength: 254 }),
      password: Type.String({ maxLength: 256, secret: true, writeOnly: true }),
    },
    { additionalProperties: false },
  ),
  result: Type.Object({ userId: Type.String() }, { additionalProperties: false }),
  // Not by address or email alone: strangers could exhaust the limit and lock out a network or a person.
  guarded(body, { deviceToken, address }, vault) {
    const email = asciiLowerCase(body.email)
    const deviceId = deviceIdOf(vault, deviceToken, email)
    return deviceId === undefined ? `sign-in of ${email} from ${networkOf(address)}` : `sign-in with ${deviceId}`
  },
  async prepare({ sql, vault, deviceToken, address }, { body }) {
    const { verifyPassword } = await import('../lib/password.ts')
    const email = asciiLowerCase(body.email)
    const isKnown = deviceIdOf(vault, deviceToken, email) !== undefined
    const asker: PasswordCaller = isKnown
      ? { standing: 'known', queueKey: email }
      : { standing: 'stranger', queueKey: networkOf(address) }
    const person = await findPersonByEmail(sql, email)
    // Also for an unknown email: the response time must not reveal whether the person exists.
    if (!(await verifyPassword(body.password, person?.passwordHash, asker))) throw signInFailed()
    return { userId: person!.id, passwordHash: person!.passwordHash! }
  },
  async run(context, { prepared: { userId, passwordHash } }) {
    // May have changed since `prepare` compared it.
    const person = await lockPerson(context.sql, userId)
    if (person?.passwordHash !== passwordHash) throw signInFailed()
    const deviceToken = newDeviceToken(context.vault, person.email)
    return { result: { userId }, sessionToken: await openSession(context, userId), deviceToken }
  },
})
