import { consoleAction } from '../http/console-action.ts'
import { Type } from '../lib/schema.ts'
import { openSession } from './open-session.ts'
import { signInFailed } from './session.ts'
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
  // Generous, since strangers can use it up: whoever guesses from one place is slowed down by the bucket of that place.
  guarded: ({ email }) => [{ name: `sign-in of ${email.toLowerCase()}`, burst: 200, perSecond: 10 }],
  async prepare({ sql }, { body }) {
    const { verifyPassword } = await import('../lib/password.ts')
    const person = await findPersonByEmail(sql, body.email.toLowerCase())
    // Also for nobody: whether there is such a person must not be told by the time it takes.
    if (!(await verifyPassword(body.password, person?.passwordHash))) throw signInFailed()
    return { userId: person!.id, passwordHash: person!.passwordHash! }
  },
  async run(context, { prepared: { userId, passwordHash } }) {
    // The password may have been changed since it was compared.
    const person = await lockPerson(context.sql, userId)
    if (person?.passwordHash !== passwordHash) throw signInFailed()
    return { result: { userId }, sessionToken: await openSession(context, userId) }
  },
})
