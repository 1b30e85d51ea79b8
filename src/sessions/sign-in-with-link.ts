import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { openSession } from './open-session.ts'
import { LinkToken, linkNotValid, linkTokenHash, newDeviceToken } from './session.ts'
import { findPersonOfLink, takeLink } from './store.ts'

export const signInWithLink = consoleAction({
  id: 'signInWithLink',
  method: 'POST',
  path: '/console/api/session/link',
  access: 'anyone',
  body: Type.Object({ token: LinkToken }, { additionalProperties: false }),
  result: Type.Object({ userId: Type.String() }, { additionalProperties: false }),
  /** Uses a read connection, so that wrong tokens do not block writes. */
  async prepare({ sql, vault, now }, { body }) {
    const person = await findPersonOfLink(sql, linkTokenHash(vault, body.token), now)
    if (!person) throw linkNotValid()
    return { email: person.email }
  },
  async run(context, { body, prepared: { email } }) {
    const { sql, vault, now } = context
    const userId = await takeLink(sql, linkTokenHash(vault, body.token), now)
    if (!userId) throw linkNotValid()
    const sessionToken = await openSession(context, userId, { isByLink: true })
    return { result: { userId }, sessionToken, deviceToken: newDeviceToken(vault, email) }
  },
})
