import { consoleAction } from '../http/console-action.ts'
import { NoResult } from '../http/operation.ts'
import { removeSessionsOf } from './store.ts'

export const signOutEverywhere = consoleAction({
  id: 'signOutEverywhere',
  method: 'DELETE',
  path: '/console/api/sessions',
  access: 'person',
  result: NoResult,
  async run({ sql, signedIn }) {
    await removeSessionsOf(sql, signedIn!.userId)
    return { result: null, sessionToken: null }
  },
})
