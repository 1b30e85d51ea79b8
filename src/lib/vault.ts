// Secrets at rest: AES-256-GCM over node:crypto. What is sealed for one place (organization, table, row, field) opens
// only there, so that a row moved or swapped in the database is refused. The master keys are a list with a current one;
// old ones stay until everything sealed with them has been sealed anew.
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export interface MasterKeys {
  /** The id of the key that seals; every key in the list opens. */
  current: string
  /** 32 random bytes each, base64. */
  keys: Record<string, string>
  /** 32 random bytes, base64: mixed into the hash of API key secrets. Apart from the keys, so that rotating them revokes nobody. */
  pepper: string
}

/** The one place where a sealed value may be opened. */
export interface Place {
  organizationId: string
  table: string
  row: string
  field: string
}

export class VaultError extends Error {
  override readonly name = 'VaultError'
}

export class Vault {
  readonly #pepper: string
  readonly #current: string
  readonly #keys = new Map<string, Buffer>()

  constructor(masterKeys: MasterKeys) {
    for (const [id, text] of Object.entries(masterKeys.keys)) this.#keys.set(id, decodeKey(`key ${id}`, text))
    if (!this.#keys.has(masterKeys.current))
      throw new VaultError(`the current master key ${masterKeys.current} is not in the list`)
    this.#current = masterKeys.current
    this.#pepper = decodeKey('the pepper', masterKeys.pepper).toString('hex')
  }

  /** A hash that cannot be computed, and so not be guessed at, without the pepper. One purpose tells nothing about another. */
  fingerprint(purpose: string, text: string): string {
    return hash('sha256', `${this.#pepper}${purpose}\u0000${text}`, 'hex')
  }

  seal(plaintext: string, place: Place): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.#current)!, nonce, { authTagLength: tagBytes })
    cipher.setAAD(associatedData(place, this.#current))
    const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
    return `${this.#current}.${Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')}`
  }

  open(sealed: string, place: Place): string {
    const dot = sealed.indexOf('.')
    const keyId = sealed.slice(0, dot)
    const key = this.#keys.get(keyId)
    if (dot < 1 || !key) throw new VaultError('sealed with a master key that is not in the list')
    const bytes = Buffer.from(sealed.slice(dot + 1), 'base64url')
    // base64url decoding forgives stray characters; what was sealed must come back to the letter.
    if (bytes.toString('base64url') !== sealed.slice(dot + 1)) throw new VaultError('the sealed value is damaged')
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
}

export function newMasterKeys(): MasterKeys {
  return {
    current: 'k1',
    keys: { k1: randomBytes(32).toString('base64') },
    pepper: randomBytes(32).toString('base64'),
  }
}

function decodeKey(name: string, text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 32) throw new VaultError(`${name} must be 32 bytes in base64`)
  return bytes
}

// JSON keeps the parts apart: no choice of ids can make two places look the same.
function associatedData(place: Place, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([place.organizationId, place.table, place.row, place.field, keyId]))
}
