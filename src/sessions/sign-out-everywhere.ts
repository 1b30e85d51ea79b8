import { consoleAction } from '../operation/console-action.ts'
import { NoResult } from '../operation/operation.ts'
import { lockPerson, removeLinksOf, removeSessionsOf } from './store.ts'

/** Also invalidates the sign-in links of the person. */
export const signOutEverywhere = consoleAction({
  id: 'signOutEverywhere',
  method: 'DELETE',
  path: '/console/api/sessions',
  access: 'person',
  result: NoResult,
  async run({ sql, signedIn }) {
    const { userId } = signedIn!
    await lockPerson(sql, userId)
    await removeSessionsOf(sql, userId)
    await removeLinksOf(sql, userId)
    return { result: null, sessionToken: null }
  },
})
