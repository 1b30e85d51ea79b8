import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { findPerson } from '../sessions/store.ts'
import { AccountName } from './account.ts'
import { renameAccount } from './store.ts'

export const updateAccount = consoleAction({
  id: 'updateAccount',
  method: 'PATCH',
  path: '/console/api/account',
  access: 'person',
  body: Type.Object({ name: Type.Optional(AccountName) }, { additionalProperties: false }),
  result: Type.Object(
    { id: Type.String({ format: 'uuid' }), name: Type.String(), email: Type.String() },
    { additionalProperties: false },
  ),
  async run({ sql, signedIn }, { body }) {
    if (body.name === undefined) {
      throw new Problem(
        'nothing_to_update',
        'the body has nothing to update; send at least one field that can be updated',
      )
    }
    const { userId } = signedIn!
    await renameAccount(sql, userId, body.name)
    const { id, name, email } = (await findPerson(sql, userId))!
    return { result: { id, name, email } }
  },
})
