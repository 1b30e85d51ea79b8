// Secrets at rest: AES-256-GCM over node:crypto. What is sealed for one place (organization, table, row, field) opens
// only there, so that a row moved or swapped in the database is refused. The master keys are a list with a current one;
// old ones stay until everything sealed with them has been sealed anew.
import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export interface MasterKeys {
  /** The id of the key that seals; every key in the list opens. */
  current: string
  /** The id of a key that was added to become the current one; nothing is sealed with it yet. */
  next?: string
  /** 32 random bytes each, base64. */
  keys: Record<string, string>
  /** 32 random bytes, base64: mixed into the hash of API key secrets. Apart from the keys, so that rotating them revokes nobody. */
  pepper: string
}

/** The one place where a sealed value may be opened. */
export interface SealContext {
  organizationId: string
  table: string
  row: string
  field: string
}

export class VaultError extends Error {
  override readonly name = 'VaultError'
}

/**
 * Tells the master keys when they have changed since it was asked last; it may look only now and then, unless they are needed
 * at once.
 */
export type KeyNews = (need: 'now' | 'soon') => MasterKeys | undefined

export class Vault {
  readonly #pepper: string
  readonly #news: KeyNews | undefined
  #current = ''
  #keys = new Map<string, Buffer>()

  /** With `news`, keys that are added, made current or removed while the process runs are followed. */
  constructor(masterKeys: MasterKeys, news?: KeyNews) {
    this.#take(masterKeys)
    this.#pepper = decodeKey('the pepper', masterKeys.pepper).toString('hex')
    this.#news = news
  }

  get currentKeyId(): string {
    return this.#current
  }

  get keyIds(): string[] {
    return [...this.#keys.keys()]
  }

  /** Tells whether two keys are the same without telling either; undefined for one that is not in the list. */
  checkOfKey(id: string): string | undefined {
    const key = this.#keys.get(id)
    return key && createHmac('sha256', key).update('which key is this').digest('hex')
  }

  /** A hash that cannot be computed, and so not be guessed at, without the pepper. One purpose tells nothing about another. */
  fingerprint(purpose: string, text: string): string {
    return hash('sha256', `${this.#pepper}${purpose}\u0000${text}`, 'hex')
  }

  seal(plaintext: string, place: SealContext): string {
    this.#follow('soon')
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.#current)!, nonce, { authTagLength: tagBytes })
    cipher.setAAD(associatedData(place, this.#current))
    const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
    return `${this.#current}.${Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')}`
  }

  open(sealed: string, place: SealContext): string {
    const keyId = keyIdOf(sealed)
    if (keyId !== undefined && !this.#keys.has(keyId)) this.#follow('now')
    const key = keyId === undefined ? undefined : this.#keys.get(keyId)
    if (keyId === undefined || !key) throw new VaultError('sealed with a master key that is not in the list')
    const text = sealed.slice(keyId.length + 1)
    const bytes = Buffer.from(text, 'base64url')
    // base64url decoding forgives stray characters; what was sealed must come back to the letter.
    if (bytes.toString('base64url') !== text) throw new VaultError('the sealed value is damaged')
    if (bytes.length < nonceBytes + tagBytes) throw new VaultError('the sealed value is too short')
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    decipher.setAAD(associatedData(place, keyId))
    decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes))
    try {
      const body = decipher.update(bytes.subarray(nonceBytes, bytes.length - tagBytes))
      return Buffer.concat([body, decipher.final()]).toString('utf8')
    } catch {
      throw new VaultError('the sealed value does not belong here or is damaged')
    }
  }

  #follow(need: 'now' | 'soon'): void {
    const changed = this.#news?.(need)
    if (changed) this.#take(changed)
  }

  #take({ current, next, keys }: MasterKeys): void {
    // What was sealed with a key that has been removed since may still be on its way into the database.
    const taken = new Map(this.#keys)
    for (const [id, text] of Object.entries(keys)) taken.set(id, decodeKey(`key ${id}`, text))
    for (const id of [current, ...(next === undefined ? [] : [next])])
      if (!taken.has(id))
        throw new VaultError(`the ${id === current ? 'current' : 'next'} master key ${id} is not in the list`)
    this.#current = current
    this.#keys = taken
  }
}

/** Of the key that a value was sealed with; undefined for what was never sealed. */
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

/** With a key that is to become the current one. Its id was never used: values of a key that was removed must not seem to be its. */
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

// JSON keeps the parts apart: no choice of ids can make two places look the same.
function associatedData(place: SealContext, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([place.organizationId, place.table, place.row, place.field, keyId]))
}
