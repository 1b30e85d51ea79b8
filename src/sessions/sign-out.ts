import { consoleAction } from '../operation/console-action.ts'
import { NoResult } from '../operation/operation.ts'
import { removeSession } from './store.ts'

export const signOut = consoleAction({
  id: 'signOut',
  method: 'DELETE',
  path: '/console/api/session',
  access: 'person',
  result: NoResult,
  async run({ sql, signedIn }) {
    await removeSession(sql, signedIn!.sessionId)
    return { result: null, sessionToken: null }
  },
})
