import { type Sql, statement } from '../database/sql.ts'
import type { Role } from '../http/operation.ts'
import type { ApiKey, IpAccess, NewKey } from './key.ts'

interface KeyRow {
  id: string
  key_id: string
  organization_id: string
  secret_hash: string
  role: Role
  state: 'enabled' | 'disabled'
  expire_at: string | null
  ip_access_list: string
}

const findStatement = statement<{ keyId: string }, KeyRow>(
  `SELECT id, key_id, organization_id, secret_hash, role, state, expire_at, ip_access_list
   FROM api_keys WHERE key_id = :keyId`,
)
const insertStatement = statement<{
  id: string
  organizationId: string
  keyId: string
  secretHash: string
  keySuffix: string
  name: string
  role: Role
  state: 'enabled' | 'disabled'
  expireAt: string | null
  ipAccessList: string
  now: string
}>(
  `INSERT INTO api_keys
     (id, organization_id, key_id, secret_hash, key_suffix, name, role, state, expire_at, ip_access_list, created_at)
   VALUES (:id, :organizationId, :keyId, :secretHash, :keySuffix, :name, :role, :state, :expireAt, :ipAccessList, :now)`,
)

/** By what the caller sent as user name. */
export async function findKey(sql: Sql, keyId: string): Promise<ApiKey | undefined> {
  const row = await sql.first(findStatement, { keyId })
  if (!row) return undefined
  return {
    id: row.id,
    keyId: row.key_id,
    organizationId: row.organization_id,
    secretHash: row.secret_hash,
    role: row.role,
    state: row.state,
    expireAt: row.expire_at,
    ipAccessList: row.ip_access_list === '[]' ? [] : (JSON.parse(row.ip_access_list) as IpAccess[]),
  }
}

export interface KeyToInsert {
  id: string
  organizationId: string
  key: NewKey
  name: string
  role: Role
  state?: 'enabled' | 'disabled'
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
