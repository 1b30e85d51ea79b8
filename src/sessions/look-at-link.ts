import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { LinkToken, linkNotValid, linkTokenHash } from './session.ts'
import { findPersonOfLink } from './store.ts'

/** Says whom a sign-in link is for, and leaves it usable. A POST, so that the token is in no URL and so in no log. */
export const lookAtLink = consoleAction({
  id: 'lookAtLink',
  method: 'POST',
  path: '/console/api/link',
  access: 'anyone',
  body: Type.Object({ token: LinkToken }, { additionalProperties: false }),
  result: Type.Object({ name: Type.String(), email: Type.String() }, { additionalProperties: false }),
  /** On a reader: wrong tokens must not take the time of writes. */
  async prepare({ sql, vault, now }, { body }) {
    const person = await findPersonOfLink(sql, linkTokenHash(vault, body.token), now)
    if (!person) throw linkNotValid()
    return { name: person.name, email: person.email }
  },
  run: async (_context, { prepared }) => ({ result: prepared }),
})
