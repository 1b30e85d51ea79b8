import { type Sql, statement } from '../database/sql.ts'
import type { IpAccess } from '../lib/ip-access.ts'
import type { Page } from '../lib/page.ts'
import { notFound } from '../lib/problem.ts'
import type { Role } from '../operation/caller.ts'
import type { ApiKey, Key, KeyStatus, NewKey, NewSecret } from './key.ts'

type KeyState = 'enabled' | 'disabled'

interface ApiKeyRow {
  id: string
  key_id: string
  organization_id: string
  secret_hash: string
  previous_secret_hash: string | null
  previous_valid_until: string | null
  role: Role
  state: KeyState
  expire_at: string | null
  ip_access_list: string
}

interface KeyRow {
  id: string
  key_id: string
  name: string
  role: Role
  state: KeyState
  expire_at: string | null
  ip_access_list: string
  created_at: string
  used_at: string | null
  key_suffix: string
  previous_valid_until: string | null
  version: number
}

const authenticateStatement = statement<{ keyId: string }, ApiKeyRow>(
  `SELECT id, key_id, organization_id, secret_hash, previous_secret_hash, previous_valid_until, role, state, expire_at,
     ip_access_list
   FROM api_keys WHERE key_id = :keyId`,
)
const statusStatement = statement<
  { id: string; organizationId: string },
  { role: Role; state: KeyState; expire_at: string | null }
>('SELECT role, state, expire_at FROM api_keys WHERE id = :id AND organization_id = :organizationId')
const keyColumns = `id, key_id, name, role, state, expire_at, ip_access_list, created_at, used_at, key_suffix,
  previous_valid_until, version FROM api_keys`

const findStatement = statement<{ organizationId: string; id: string }, KeyRow>(
  `SELECT ${keyColumns} WHERE id = :id AND organization_id = :organizationId`,
)
const listStatement = statement<{ organizationId: string; at: string; id: string; rows: number }, KeyRow>(
  `SELECT ${keyColumns} WHERE organization_id = :organizationId AND (created_at, id) < (:at, :id)
   ORDER BY created_at DESC, id DESC LIMIT :rows`,
)
const insertStatement = statement<{
  id: string
  organizationId: string
  keyId: string
  secretHash: string
  keySuffix: string
  name: string
  role: Role
  state: KeyState
  expireAt: string | null
  ipAccessList: string
  now: string
}>(
  `INSERT INTO api_keys
     (id, organization_id, key_id, secret_hash, key_suffix, name, role, state, expire_at, ip_access_list, created_at)
   VALUES (:id, :organizationId, :keyId, :secretHash, :keySuffix, :name, :role, :state, :expireAt, :ipAccessList, :now)`,
)
const updateStatement = statement<{
  organizationId: string
  id: string
  name: string
  role: Role
  state: KeyState
  expireAt: string | null
  ipAccessList: string
}>(
  `UPDATE api_keys SET name = :name, role = :role, state = :state, expire_at = :expireAt, ip_access_list = :ipAccessList,
     version = version + 1
   WHERE id = :id AND organization_id = :organizationId`,
)
const rotateStatement = statement<{ organizationId: string; id: string; secretHash: string; keySuffix: string }>(
  `UPDATE api_keys SET secret_hash = :secretHash, key_suffix = :keySuffix, version = version + 1,
     previous_secret_hash = NULL, previous_valid_until = NULL
   WHERE id = :id AND organization_id = :organizationId`,
)
const rotateWithGraceStatement = statement<{
  organizationId: string
  id: string
  secretHash: string
  keySuffix: string
  previousValidUntil: string
}>(
  `UPDATE api_keys SET secret_hash = :secretHash, key_suffix = :keySuffix, version = version + 1,
     previous_secret_hash = secret_hash, previous_valid_until = :previousValidUntil
   WHERE id = :id AND organization_id = :organizationId`,
)
const deleteStatement = statement<{ organizationId: string; id: string }>(
  'DELETE FROM api_keys WHERE id = :id AND organization_id = :organizationId',
)
const noteUseStatement = statement<{ organizationId: string; id: string; usedAt: string }>(
  `UPDATE api_keys SET used_at = :usedAt
   WHERE id = :id AND organization_id = :organizationId AND (used_at IS NULL OR used_at < :usedAt)`,
)

/** Finds a key by the user name that the caller sent. */
export async function findKey(sql: Sql, keyId: string): Promise<ApiKey | undefined> {
  // Cached per snapshot, because requests of a busy client arrive together. Unknown keys are cached as well, so that they take the
  // same time.
  const { memo } = sql
  const name = `key ${keyId}`
  if (memo?.has(name)) return memo.get(name) as ApiKey | undefined
  const row = await sql.first(authenticateStatement, { keyId })
  const key = row && toApiKey(row)
  memo?.set(name, key)
  return key
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    keyId: row.key_id,
    organizationId: row.organization_id,
    secretHash: row.secret_hash,
    previousSecretHash: row.previous_secret_hash,
    previousValidUntil: row.previous_valid_until,
    role: row.role,
    state: row.state,
    expireAt: row.expire_at,
    ipAccessList: row.ip_access_list,
  }
}

/** Undefined when the key has been deleted. */
export async function findKeyStatus(
  sql: Sql,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<KeyStatus | undefined> {
  const row = await sql.first(statusStatement, { id, organizationId })
  return row && { role: row.role, state: row.state, expireAt: row.expire_at }
}

/** A key without the hashes of its secrets. */
export interface StoredKey {
  key: Key
  version: number
}

export async function findStoredKey(sql: Sql, organizationId: string, id: string): Promise<StoredKey | undefined> {
  const row = await sql.first(findStatement, { organizationId, id })
  return row && { key: keyOf(row), version: row.version }
}

export async function loadKey(sql: Sql, organizationId: string, id: string): Promise<StoredKey> {
  const stored = await findStoredKey(sql, organizationId, id)
  if (!stored) throw notFound(`key ${id} was not found in organization ${organizationId}`)
  return stored
}

/** The newest first. */
export async function listKeyRows(sql: Sql, organizationId: string, { rows, after: [at, id] }: Page): Promise<Key[]> {
  return (await sql.all(listStatement, { organizationId, at, id, rows })).map(keyOf)
}

export interface KeyToInsert {
  id: string
  organizationId: string
  key: NewKey
  name: string
  role: Role
  state?: KeyState
  expireAt?: string | null
  ipAccessList?: IpAccess[]
  now: string
}

export async function insertKey(sql: Sql, record: KeyToInsert): Promise<void> {
  const { key, state = 'enabled', expireAt = null, ipAccessList = [], ...rest } = record
  await sql.run(insertStatement, {
    ...rest,
    keyId: key.keyId,
    secretHash: key.secretHash,
    keySuffix: key.keySuffix,
    state,
    expireAt,
    ipAccessList: JSON.stringify(ipAccessList),
  })
}

/** Call with the organization locked; returns the updated key. */
export async function updateKeyRow(sql: Sql, organizationId: string, { key, version }: StoredKey): Promise<StoredKey> {
  const { id, name, roles, state, expireAt, ipAccessList } = key
  await sql.run(updateStatement, {
    organizationId,
    id,
    name,
    role: roles[0]!,
    state,
    expireAt,
    ipAccessList: JSON.stringify(ipAccessList),
  })
  return { key, version: version + 1 }
}

/**
 * Replaces the secret. The current one stays valid until `previousValidUntil`, or ends now if that is null. The one before it ends
 * now.
 */
export async function replaceSecret(
  sql: Sql,
  organizationId: string,
  id: string,
  { secretHash, keySuffix }: NewSecret,
  previousValidUntil: string | null,
): Promise<void> {
  const values = { organizationId, id, secretHash, keySuffix }
  if (previousValidUntil === null) await sql.run(rotateStatement, values)
  else await sql.run(rotateWithGraceStatement, { ...values, previousValidUntil })
}

export async function removeKey(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.run(deleteStatement, { organizationId, id })
}

/** Not a change of the key: increments no version and records no activity. */
export async function setUsedAt(sql: Sql, use: { organizationId: string; id: string; usedAt: string }): Promise<void> {
  await sql.run(noteUseStatement, use)
}

function keyOf(row: KeyRow): Key {
  return {
    id: row.id,
    keyId: row.key_id,
    name: row.name,
    roles: [row.role],
    state: row.state,
    expireAt: row.expire_at,
    ipAccessList: JSON.parse(row.ip_access_list) as IpAccess[],
    createdAt: row.created_at,
    usedAt: row.used_at,
    keySuffix: row.key_suffix,
    previousSecretValidUntil: row.previous_valid_until,
  }
}
