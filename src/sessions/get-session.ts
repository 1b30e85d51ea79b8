import { Type } from '../lib/schema.ts'
import { MemberRole } from '../members/member.ts'
import { consoleAction } from '../operation/console-action.ts'
import { mayReplacePassword } from './session.ts'
import { findPerson, findSessionOf, listOrganizationsOf } from './store.ts'

const Methods = Type.Object(
  {
    password: Type.Boolean(),
    oidc: Type.Optional(Type.Object({ name: Type.String() }, { additionalProperties: false })),
  },
  { description: 'How one can sign in.', additionalProperties: false },
)

const SignedInPerson = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    hasPassword: Type.Boolean(),
    mayReplacePassword: Type.Boolean({
      description:
        'Without the current one: shortly after a sign-in by link, and after any sign-in to an account without a password.',
    }),
  },
  { additionalProperties: false },
)

const OwnOrganization = Type.Object(
  { id: Type.String(), name: Type.String(), role: MemberRole },
  { additionalProperties: false },
)

export const getSession = consoleAction({
  id: 'getSession',
  method: 'GET',
  path: '/console/api/session',
  access: 'anyone',
  /** The fields after `methods` are present only when somebody is signed in. */
  result: Type.Object(
    {
      signedIn: Type.Boolean(),
      methods: Methods,
      user: Type.Optional(SignedInPerson),
      organizations: Type.Optional(Type.Array(OwnOrganization)),
      csrfToken: Type.Optional(Type.String()),
      sessionId: Type.Optional(Type.String()),
      expireAt: Type.Optional(Type.String({ format: 'date-time' })),
    },
    { additionalProperties: false },
  ),
  async run({ sql, settings, signedIn, now }) {
    const methods = { password: true, ...(settings.oidc ? { oidc: { name: settings.oidc.name } } : {}) }
    const nobody = { result: { signedIn: false, methods } }
    if (!signedIn) return nobody
    const { userId, sessionId, csrfToken } = signedIn
    const [person, session, organizations] = await Promise.all([
      findPerson(sql, userId),
      findSessionOf(sql, { id: sessionId, userId }, now),
      listOrganizationsOf(sql, userId),
    ])
    if (!person || !session) return nobody
    const { id, name, email, passwordHash } = person
    const hasPassword = passwordHash !== undefined
    const user = {
      id,
      name,
      email,
      hasPassword,
      mayReplacePassword: mayReplacePassword(session, { hasPassword }, now),
    }
    // Sorted here, because collations differ between databases.
    organizations.sort((one, other) => one.name.localeCompare(other.name, 'en') || (one.id < other.id ? -1 : 1))
    return {
      result: { signedIn: true, methods, user, organizations, csrfToken, sessionId, expireAt: session.expireAt },
    }
  },
})
