// HTTP Basic authentication with an API key: strict parsing, one lookup, the same answer for every error.
import { isUtf8 } from 'node:buffer'

export interface Credentials {
  keyId: string
  /** Compared with the stored hash of the key. */
  secretHash: string
}

const strictBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const longestHeader = 2_048

/** Undefined for anything but one well-formed Basic header. The secret may contain `:`, the key id may not. */
function parseBasic(header: string | undefined): { keyId: string; secret: string } | undefined {
  if (!header || header.length > longestHeader) return undefined
  const match = /^basic +(\S+) *$/i.exec(header)
  if (!match || !strictBase64.test(match[1]!)) return undefined
  const bytes = Buffer.from(match[1]!, 'base64')
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  // RFC 7617 allows no control characters, and PostgreSQL rejects U+0000 in a query parameter.
  if (colon < 1 || /\p{Cc}/u.test(text)) return undefined
  return { keyId: text.slice(0, colon), secret: text.slice(colon + 1) }
}

/**
 * Parses credentials, caching the last header of each connection: clients send the same one with every
 * request. Only the parsing is cached; the key is looked up for every request.
 */
export class CredentialReader {
  readonly #hashSecret: (secret: string) => string
  readonly #last = new WeakMap<object, { header: string; credentials: Credentials }>()

  constructor(hashSecret: (secret: string) => string) {
    this.#hashSecret = hashSecret
  }

  read(connection: object, header: string | undefined): Credentials | undefined {
    const last = this.#last.get(connection)
    if (last && last.header === header) return last.credentials
    const parsed = parseBasic(header)
    if (!parsed) return undefined
    const credentials = { keyId: parsed.keyId, secretHash: this.#hashSecret(parsed.secret) }
    this.#last.set(connection, { header: header!, credentials })
    return credentials
  }
}
