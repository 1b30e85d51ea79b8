// Client of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { SessionError } from './postgres-messages.ts'

const mechanism = 'SCRAM-SHA-256'
/** With fewer iterations, passwords can be guessed quickly from the answer. */
const leastIterations = 4096
/** Bounds our CPU time. */
const mostIterations = 100_000
/** PostgreSQL's exact format, so that nothing else can be read from the message. */
const firstMessage = /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9]\d{0,8})$/

export class Scram {
  readonly mechanism = mechanism
  readonly #nonce = randomBytes(18).toString('base64')
  #serverSignature: string | undefined

  constructor(mechanisms: string[]) {
    if (!mechanisms.includes(mechanism)) throw new SessionError('other scram')
  }

  /** PostgreSQL ignores the user name in it. */
  get clientFirst(): string {
    return `n,,n=*,r=${this.#nonce}`
  }

  /** `keepsPassword`: the password was sent for another server, so guessing it must be slow. */
  async clientFinal(serverFirst: string, password: string, keepsPassword: boolean): Promise<string> {
    const [, nonce = '', salt = '', digits] = firstMessage.exec(serverFirst) ?? []
    const iterations = Number(digits ?? 0)
    if (keepsPassword && iterations < leastIterations) throw new SessionError('password kept')
    const isValid = nonce.startsWith(this.#nonce) && nonce.length > this.#nonce.length && salt.length % 4 === 0
    if (!isValid || iterations < 1 || iterations > mostIterations) throw new SessionError('other scram')
    const salted = await deriveKey(prepared(password), Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
    const withoutProof = `c=biws,r=${nonce}`
    const signed = `n=*,r=${this.#nonce},${serverFirst},${withoutProof}`
    const clientKey = hmac(salted, 'Client Key')
    const signature = hmac(createHash('sha256').update(clientKey).digest(), signed)
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ signature[index]!))
    this.#serverSignature = hmac(hmac(salted, 'Server Key'), signed).toString('base64')
    return `${withoutProof},p=${proof.toString('base64')}`
  }

  /** Throws when the server does not prove that it knows the password. */
  verify(serverFinal: string): void {
    const isProven = this.#serverSignature && serverFinal.split(',').includes(`v=${this.#serverSignature}`)
    if (!isProven) throw new SessionError('other scram')
  }
}

const deriveKey = promisify(pbkdf2)

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** SASLprep as PostgreSQL does it: other spaces become a space, invisible characters are left out. */
function prepared(password: string): string {
  return password
    .replace(/[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/g, ' ')
    .replace(/\u00ad|\u034f|\u1806|[\u180b-\u180d]|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]|\ufeff/g, '')
    .normalize('NFKC')
}
