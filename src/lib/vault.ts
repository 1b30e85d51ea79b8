// Encrypts secrets at rest with AES-256-GCM. A value sealed for one seal context (organization, table, row, field) opens only there, so
// that a row moved or swapped in the database is rejected. There is a list of master keys with a current one; old keys stay until all
// their values have been sealed again.
import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export interface MasterKeys {
  /** Id of the key that seals; every key in the list opens. */
  current: string
  /** Id of a key that was added to become the current one; it does not seal yet. */
  next?: string
  /** 32 random bytes each, base64. */
  keys: Record<string, string>
  /** 32 random bytes, base64: mixed into the hash of API key secrets. Not one of the keys, so that rotation revokes no API key. */
  pepper: string
}

/** The only context in which a sealed value can be opened; the AAD of AES-GCM. */
export interface SealContext {
  organizationId: string
  table: string
  row: string
  field: string
}

export class VaultError extends Error {
  override readonly name = 'VaultError'
}

/** Returns the master keys if they have changed since the last call. With `soon` it may skip the check; with `now` it must check. */
export type LoadChangedKeys = (need: 'now' | 'soon') => MasterKeys | undefined

export class Vault {
  readonly #pepper: string
  readonly #loadChangedKeys: LoadChangedKeys | undefined
  #current = ''
  #keys = new Map<string, Buffer>()

  /** With `loadChangedKeys`, changes of the master keys are applied while the process runs. */
  constructor(masterKeys: MasterKeys, loadChangedKeys?: LoadChangedKeys) {
    this.#applyKeys(masterKeys)
    this.#pepper = decodeKey('the pepper', masterKeys.pepper).toString('hex')
    this.#loadChangedKeys = loadChangedKeys
  }

  get currentKeyId(): string {
    return this.#current
  }

  get keyIds(): string[] {
    return [...this.#keys.keys()]
  }

  /** A value to compare two keys without revealing them; undefined for a key that is not in the list. */
  checkOfKey(id: string): string | undefined {
    const key = this.#keys.get(id)
    return key && createHmac('sha256', key).update('which key is this').digest('hex')
  }

  /** A hash that cannot be computed, and so not be guessed, without the pepper. Hashes of different purposes are unrelated. */
  fingerprint(purpose: string, text: string): string {
    return hash('sha256', `${this.#pepper}${purpose}\u0000${text}`, 'hex')
  }

  seal(plaintext: string, context: SealContext): string {
    this.#reloadKeys('soon')
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.#current)!, nonce, { authTagLength: tagBytes })
    cipher.setAAD(associatedData(context, this.#current))
    const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
    return `${this.#current}.${Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')}`
  }

  open(sealed: string, context: SealContext): string {
    const keyId = keyIdOf(sealed)
    if (keyId !== undefined && !this.#keys.has(keyId)) this.#reloadKeys('now')
    const key = keyId === undefined ? undefined : this.#keys.get(keyId)
    if (keyId === undefined || !key) throw new VaultError('sealed with a master key that is not in the list')
    const text = sealed.slice(keyId.length + 1)
    const bytes = Buffer.from(text, 'base64url')
    // base64url decoding ignores stray characters; a sealed value must re-encode to the same text.
    if (bytes.toString('base64url') !== text) throw new VaultError('the sealed value is damaged')
    if (bytes.length < nonceBytes + tagBytes) throw new VaultError('the sealed value is too short')
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    decipher.setAAD(associatedData(context, keyId))
    decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes))
    try {
      const body = decipher.update(bytes.subarray(nonceBytes, bytes.length - tagBytes))
      return Buffer.concat([body, decipher.final()]).toString('utf8')
    } catch {
      throw new VaultError('the sealed value does not belong here or is damaged')
    }
  }

  #reloadKeys(need: 'now' | 'soon'): void {
    const changed = this.#loadChangedKeys?.(need)
    if (changed) this.#applyKeys(changed)
  }

  #applyKeys({ current, next, keys }: MasterKeys): void {
    // Values sealed with a key that was removed since may not be stored yet.
    const merged = new Map(this.#keys)
    for (const [id, text] of Object.entries(keys)) merged.set(id, decodeKey(`key ${id}`, text))
    for (const id of [current, ...(next === undefined ? [] : [next])])
      if (!merged.has(id))
        throw new VaultError(`the ${id === current ? 'current' : 'next'} master key ${id} is not in the list`)
    this.#current = current
    this.#keys = merged
  }
}

/** Id of the key that sealed a value; undefined for text that was never sealed. */
export function keyIdOf(sealed: string): string | undefined {
  const dot = sealed.indexOf('.')
  return dot < 1 ? undefined : sealed.slice(0, dot)
}

export function newMasterKeys(): MasterKeys {
  return {
    current: 'k1',
    keys: { k1: randomBytes(32).toString('base64') },
    pepper: randomBytes(32).toString('base64'),
  }
}

/** Adds a key that will become the current one. Its id was never used: values of a removed key must not seem to belong to it. */
export function withNextKey(masterKeys: MasterKeys): MasterKeys & { next: string } {
  const numbers = Object.keys(masterKeys.keys).map((id) => Number(/^k(\d+)/.exec(id)?.[1] ?? 0))
  const next = `k${Math.max(...numbers) + 1}-${randomBytes(3).toString('hex')}`
  return { ...masterKeys, next, keys: { ...masterKeys.keys, [next]: randomBytes(32).toString('base64') } }
}

function decodeKey(name: string, text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 32) throw new VaultError(`${name} must be 32 bytes in base64`)
  return bytes
}

// JSON separates the parts: different contexts never give the same text.
function associatedData(context: SealContext, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([context.organizationId, context.table, context.row, context.field, keyId]))
}
