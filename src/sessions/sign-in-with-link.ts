import { consoleAction } from '../http/console-action.ts'
import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { openSession } from './open-session.ts'
import { linkTokenHash } from './session.ts'
import { takeLink } from './store.ts'

export const signInWithLink = consoleAction({
  id: 'signInWithLink',
  method: 'POST',
  path: '/console/api/session/link',
  access: 'anyone',
  body: Type.Object(
    { token: Type.String({ maxLength: 64, secret: true, writeOnly: true }) },
    { additionalProperties: false },
  ),
  result: Type.Object({ userId: Type.String() }, { additionalProperties: false }),
  async run(context, { body }) {
    const { sql, vault, now } = context
    const userId = await takeLink(sql, linkTokenHash(vault, body.token), now)
    if (!userId) {
      throw new Problem('sign_in_failed', 'the link has been used already or has expired; ask for a new one')
    }
    return { result: { userId }, sessionToken: await openSession(context, userId, { isByLink: true }) }
  },
})
