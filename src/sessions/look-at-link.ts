import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { LinkToken, linkNotValid, linkTokenHash } from './session.ts'
import { findPersonOfLink } from './store.ts'

/** Shows whose sign-in link it is, without using it up. POST keeps the token out of URLs and logs. */
export const lookAtLink = consoleAction({
  id: 'lookAtLink',
  method: 'POST',
  path: '/console/api/link',
  access: 'anyone',
  body: Type.Object({ token: LinkToken }, { additionalProperties: false }),
  result: Type.Object({ name: Type.String(), email: Type.String() }, { additionalProperties: false }),
  /** Uses a read connection, so that wrong tokens do not block writes. */
  async prepare({ sql, vault, now }, { body }) {
    const person = await findPersonOfLink(sql, linkTokenHash(vault, body.token), now)
    if (!person) throw linkNotValid()
    return { name: person.name, email: person.email }
  },
  run: async (_context, { prepared }) => ({ result: prepared }),
})
