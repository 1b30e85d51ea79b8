import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { isSessionActive } from './session.ts'
import { listSessionRows } from './store.ts'

const OwnSession = Type.Object(
  {
    id: Type.String(),
    createdAt: Type.String({ format: 'date-time' }),
    usedAt: Type.String({ format: 'date-time', description: 'To the minute.' }),
    address: Type.String({ description: 'Where it was signed in from.' }),
    userAgent: Type.String(),
    isCurrent: Type.Boolean(),
  },
  { additionalProperties: false },
)

export const listSessions = consoleAction({
  id: 'listSessions',
  method: 'GET',
  path: '/console/api/sessions',
  access: 'person',
  result: Type.Array(OwnSession),
  async run({ sql, now, signedIn }) {
    const { userId, sessionId } = signedIn!
    const sessions = (await listSessionRows(sql, userId)).filter((session) => isSessionActive(session, now))
    return {
      result: sessions.map(({ expireAt: _, ...session }) => ({ ...session, isCurrent: session.id === sessionId })),
    }
  },
})
