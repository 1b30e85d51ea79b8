// API keys: how they are made, hashed and checked. The secret is shown once and stored only as a hash that needs the
// installation's pepper, so that whoever can write to the database still cannot plant a key.
import { timingSafeEqual } from 'node:crypto'
import { BlockList, isIP } from 'node:net'
import { crc32 } from 'node:zlib'
import type { Role } from '../http/operation.ts'
import { randomBase62, toBase62 } from '../lib/id.ts'
import { Secret } from '../lib/secret.ts'
import type { Vault } from '../lib/vault.ts'

const keyIdLength = 20
const secretPrefix = 'pst_'
/** 43 base62 characters hold 256 random bits. */
const secretLength = 43
const checksumLength = 6

export interface IpAccess {
  /** An address or a CIDR range. */
  source: string
  description: string
}

export interface ApiKey {
  /** The record's id. */
  id: string
  /** What the caller sends as user name. */
  keyId: string
  organizationId: string
  secretHash: string
  role: Role
  state: 'enabled' | 'disabled'
  expireAt: string | null
  ipAccessList: IpAccess[]
}

export interface NewKey {
  keyId: string
  secret: Secret
  secretHash: string
  /** The last four characters, to tell keys apart. */
  keySuffix: string
}

export function newKey(vault: Vault): NewKey {
  const random = randomBase62(secretLength)
  const secret = `${secretPrefix}${random}${toBase62(crc32(random), checksumLength)}`
  return {
    keyId: randomBase62(keyIdLength),
    secret: new Secret(secret),
    secretHash: hashSecret(vault, secret),
    keySuffix: secret.slice(-4),
  }
}

/** Whether this can be the id of a key at all. */
export function isKeyId(text: string): boolean {
  return /^[0-9A-Za-z]{20}$/.test(text)
}

export function hashSecret(vault: Vault, secret: string): string {
  return vault.fingerprint('api-key', secret)
}

// Of a secret that nobody can send: compared with when the key id is unknown, so that both answers take the same time.
const nobodysHash = 'f'.repeat(64)

/**
 * Whether the secret with this hash opens this key now. Unknown, wrong, disabled and expired are one and the same answer,
 * reached by the same steps.
 */
export function keyOpens(key: ApiKey | undefined, secretHash: string): boolean {
  const matches = timingSafeEqual(Buffer.from(secretHash), Buffer.from(key?.secretHash ?? nobodysHash))
  const expired = key?.expireAt != null && key.expireAt <= new Date().toISOString()
  return matches && key?.state === 'enabled' && !expired
}

/** Whether the list lets this address in; an empty list lets everyone in. */
export function addressAllowed(list: IpAccess[], address: string): boolean {
  if (list.length === 0) return true
  const allowed = new BlockList()
  for (const { source } of list) {
    const [network, prefix] = source.split('/')
    const family = isIP(network!) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) allowed.addAddress(network!, family)
    else allowed.addSubnet(network!, Number(prefix), family)
  }
  return allowed.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
