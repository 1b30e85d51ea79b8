// API keys: shape, creation, hashing and checks. The secret is shown once and stored only as a hash with the installation's pepper, so
// that write access to the database is not enough to create a valid key.
import { timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { randomBase62, toBase62 } from '../lib/id.ts'
import { IpAccess, ipAccessListOf } from '../lib/ip-access.ts'
import { type FieldProblem, Problem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import { Secret } from '../lib/secret.ts'
import type { Vault } from '../lib/vault.ts'
import { MemberRole } from '../members/member.ts'
import type { Role } from '../operation/caller.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'

const keyIdLength = 20
const secretPrefix = 'pst_'
/** 43 base62 characters hold 256 random bits. */
const secretLength = 43
const checksumLength = 6

export const KeyPath = Type.Object({
  ...OrganizationPath,
  keyId: idParameter(
    '`id` of the API key, a UUID. This is not its `keyId`, which is the user name for authentication.',
  ),
})

const KeyState = Type.Enum(['enabled', 'disabled'], { description: 'Requests with a `disabled` key are rejected.' })
const KeyRoles = Type.Array(MemberRole, { minItems: 1, maxItems: 1, description: 'Role of the key: exactly one.' })
const KeyName = { description: 'Display name of the key.' }
const NewKeyName = Type.String({ ...KeyName, minLength: 1, maxLength: 255 })
const timestamp = (description: string) => nullable(Type.String({ format: 'date-time', description }))
const NewExpiry = nullable(
  Type.String({
    format: 'date-time',
    maxLength: 64,
    description: 'When the key expires; `null`: never.',
  }),
)

const NewIpAccessList = ipAccessListOf({
  description: 'Addresses that may use the key; an empty list allows all. A source must not be repeated.',
})

export const Key = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Id of the key in paths.' }),
    keyId: Type.String({
      description:
        'Key id: the user name for authentication, 20 letters and digits. The parameter `{keyId}` in paths is `id`, not ' +
        'this value.',
    }),
    name: Type.String(KeyName),
    roles: Type.Array(MemberRole, { description: 'Role of the key: exactly one.' }),
    state: KeyState,
    expireAt: timestamp('When the key expires; `null`: never.'),
    ipAccessList: Type.Array(IpAccess, { description: 'Addresses that may use the key; an empty list allows all.' }),
    createdAt: Type.String({ format: 'date-time', description: 'When the key was created.' }),
    usedAt: timestamp('When the key was last used, to the minute; `null`: never.'),
    keySuffix: Type.String({ description: 'Last four characters of the secret.' }),
    previousSecretValidUntil: timestamp(
      'When the secret from before the last rotation expires or expired; `null` if it expired with the rotation.',
    ),
  },
  { $id: 'Key', description: 'API key without its secret.', additionalProperties: false },
)
export type Key = Static<typeof Key>

export const KeyCreate = Type.Object(
  {
    name: NewKeyName,
    roles: KeyRoles,
    state: Type.Optional({ ...KeyState, default: 'enabled' }),
    expireAt: Type.Optional(NewExpiry),
    ipAccessList: Type.Optional(NewIpAccessList),
  },
  { $id: 'KeyCreate', description: 'API key to create.', additionalProperties: false },
)

export const KeyPatch = Type.Object(
  {
    name: Type.Optional(NewKeyName),
    roles: Type.Optional(KeyRoles),
    state: Type.Optional(KeyState),
    expireAt: Type.Optional(NewExpiry),
    ipAccessList: Type.Optional(NewIpAccessList),
    // A client may read a key, edit it and send all of it back; the read itself has changed `usedAt`.
    usedAt: Type.Optional(
      nullable(
        Type.String({
          format: 'date-time',
          maxLength: 64,
          description: 'Ignored: Penstock sets it when the key is used.',
        }),
      ),
    ),
  },
  { $id: 'KeyPatch', description: 'Changes to an API key.', additionalProperties: false },
)

/** The only response that has the secret. */
export const KeyWithSecret = Type.Object(
  {
    key: Key,
    keyId: Type.String({ description: 'Key id: the user name for authentication.' }),
    keySecret: Type.String({
      description: 'Key secret: the password for authentication. Store it now: it is returned only in this response.',
    }),
  },
  { $id: 'KeyWithSecret', description: 'API key with its new secret.', additionalProperties: false },
)

export const keyExample: Key = {
  id: '3f0a5c1e-9b7d-4e62-8a41-6d2c9e5b7f10',
  keyId: 'q7RkT2mXw9LcB4nZs6Vd',
  name: 'deployments',
  roles: ['developer'],
  state: 'enabled',
  expireAt: '2099-12-31T00:00:00.000Z',
  ipAccessList: [{ source: '203.0.113.0/24', description: 'build servers' }],
  createdAt: '2026-03-02T09:15:00.000Z',
  usedAt: null,
  keySuffix: '0kQz',
  previousSecretValidUntil: null,
}

export const keySecretExample = 'pst_<43 random characters><6 of a checksum>'

/** A key as authentication needs it. */
export interface ApiKey {
  /** Id of the record, used in paths. */
  id: string
  /** User name that the caller sends. */
  keyId: string
  organizationId: string
  secretHash: string
  /** Hash of the secret before the last rotation, valid until `previousValidUntil`. */
  previousSecretHash: string | null
  previousValidUntil: string | null
  role: Role
  state: 'enabled' | 'disabled'
  expireAt: string | null
  /** JSON text for `addressAllowed`. */
  ipAccessList: string
}

export interface NewSecret {
  secret: Secret
  secretHash: string
  /** The last four characters, to distinguish keys. */
  keySuffix: string
}

export interface NewKey extends NewSecret {
  keyId: string
}

export function newKey(vault: Vault): NewKey {
  return { keyId: randomBase62(keyIdLength), ...newSecret(vault) }
}

export function newSecret(vault: Vault): NewSecret {
  const random = randomBase62(secretLength)
  const secret = `${secretPrefix}${random}${toBase62(crc32(random), checksumLength)}`
  return { secret: new Secret(secret), secretHash: hashSecret(vault, secret), keySuffix: secret.slice(-4) }
}

/** Whether the text has the format of a key id. */
export function isKeyId(text: string): boolean {
  return /^[0-9A-Za-z]{20}$/.test(text)
}

export function hashSecret(vault: Vault, secret: string): string {
  return vault.fingerprint('api-key', secret)
}

// Hash that no secret has. Compared when there is no such key or no previous secret, so that all responses take the same time.
const unmatchableHash = 'f'.repeat(64)

/**
 * Whether the secret with this hash is valid for this key now. An unknown key, and a wrong, disabled, expired or rotated one, take the
 * same steps, so that timing does not reveal which.
 */
export function keyOpens(key: ApiKey | undefined, secretHash: string): boolean {
  const now = new Date().toISOString()
  const sent = Buffer.from(secretHash)
  const isCurrent = timingSafeEqual(sent, Buffer.from(key?.secretHash ?? unmatchableHash))
  const isPrevious = timingSafeEqual(sent, Buffer.from(key?.previousSecretHash ?? unmatchableHash))
  const previousIsValid = key?.previousValidUntil != null && now < key.previousValidUntil
  const matches = isCurrent || (isPrevious && previousIsValid)
  const expired = key?.expireAt != null && key.expireAt <= now
  return matches && key?.state === 'enabled' && !expired
}

/** The fields that decide whether an authenticated key may go on. */
export interface KeyStatus {
  role: Role
  state: 'enabled' | 'disabled'
  expireAt: string | null
}

/** Whether an already authenticated key is still enabled and has not expired. */
export function isKeyActive({ state, expireAt }: KeyStatus, now: string): boolean {
  return state === 'enabled' && (expireAt === null || expireAt > now)
}

/** Normalizes a timestamp to UTC with milliseconds, so that timestamps can be compared as text. */
export function readExpiry(sent: string | null, problems: FieldProblem[]): string | null {
  if (sent === null) return null
  const expireAt = new Date(sent).toISOString()
  // In UTC the year may no longer have four digits.
  if (expireAt.length === '2026-01-31T12:00:00.000Z'.length) return expireAt
  const detail = `expireAt must be a timestamp in the years 0000 to 9999 (UTC), not ${JSON.stringify(sent)}`
  problems.push({ path: 'expireAt', detail })
  return null
}

/** Prevents a caller from locking out the only key that they have. */
export function ownKey(id: string, cannot: string[]): Problem {
  return new Problem(
    'own_key',
    `this request was made with key ${id} itself, which cannot ${cannot.join(' or ')}; use another admin key`,
  )
}
