// Server side of SASL: PLAIN, SCRAM (RFC 5802) and OAUTHBEARER (RFC 7628), one message at a time.
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'
import { allPermissions, type KafkaUser } from './users.ts'

/** The credentials are wrong, or the message is malformed. */
export class LoginRefused extends Error {}

export type SaslAnswer = { message: Buffer; user?: KafkaUser }

/** Takes the client's next message; a result with a user ends the login. Rejects with LoginRefused. */
export type SaslExchange = (message: Buffer) => SaslAnswer | Promise<SaslAnswer>

export interface SaslSettings {
  users: KafkaUser[]
  acceptsToken(token: string): boolean | Promise<boolean>
}

/** Login state of a connection. */
export interface SaslSession {
  settings: SaslSettings
  exchange?: SaslExchange
  /** After a handshake of version 0: SASL messages come without Kafka headers. */
  isBare: boolean
}

export const mechanisms: Record<string, (settings: SaslSettings) => SaslExchange> = {
  PLAIN: plain,
  'SCRAM-SHA-256': (settings) => scram(settings, 'sha256', 32),
  'SCRAM-SHA-512': (settings) => scram(settings, 'sha512', 64),
  OAUTHBEARER: oauthBearer,
}

function plain({ users }: SaslSettings): SaslExchange {
  return (message) => {
    const [, username, password, ...rest] = message.toString().split('\0')
    const user = users.find((each) => each.username === username && each.password === password)
    if (!user || rest.length > 0) throw new LoginRefused()
    return { message: Buffer.alloc(0), user }
  }
}

const iterations = 4096

function scram({ users }: SaslSettings, hash: string, sizeBytes: number): SaslExchange {
  let finish: SaslExchange | undefined
  const hmac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest()
  return (message) => {
    if (finish) return finish(message)
    const [, header = '', bare = '', name = '', clientNonce = ''] =
      /^([nyp][^,]*,[^,]*,)(n=([^,]*),r=([^,]+).*)$/s.exec(message.toString()) ?? []
    const username = name.replaceAll('=2C', ',').replaceAll('=3D', '=')
    const user = users.find((each) => each.username === username)
    if (!user || !header.startsWith('n,')) throw new LoginRefused()

    const nonce = clientNonce + randomBytes(18).toString('base64url')
    const salt = randomBytes(16)
    const serverFirst = `r=${nonce},s=${salt.toString('base64')},i=${iterations}`
    const saltedPassword = pbkdf2Sync(user.password, salt, iterations, sizeBytes, hash)
    finish = (final) => {
      const [, withoutProof = '', proof = ''] = /^(.*),p=([^,]+)$/s.exec(final.toString()) ?? []
      // Like Kafka, checks only the end of the nonce: older librdkafka clients repeat their own part.
      const begin = `c=${Buffer.from(header).toString('base64')},r=`
      if (!withoutProof.startsWith(begin) || !withoutProof.endsWith(nonce)) throw new LoginRefused()
      const signed = `${bare},${serverFirst},${withoutProof}`
      const storedKey = createHash(hash).update(hmac(saltedPassword, 'Client Key')).digest()
      const clientKey = xor(Buffer.from(proof, 'base64'), hmac(storedKey, signed))
      if (!timingSafeEqual(createHash(hash).update(clientKey).digest(), storedKey)) throw new LoginRefused()
      const signature = hmac(hmac(saltedPassword, 'Server Key'), signed)
      return { message: Buffer.from(`v=${signature.toString('base64')}`), user }
    }
    return { message: Buffer.from(serverFirst) }
  }
}

function xor(left: Buffer, right: Buffer): Buffer {
  return Buffer.from(right.map((byte, index) => byte ^ (left[index] ?? 0)))
}

function oauthBearer({ acceptsToken }: SaslSettings): SaslExchange {
  let wasRefused = false
  return async (message) => {
    const [header = '', ...pairs] = message.toString().split('\x01')
    const token = pairs.map((pair) => /^auth=Bearer (.+)$/i.exec(pair)?.[1]).find((found) => found !== undefined)
    if (wasRefused || token === undefined || !/^n,[^,]*,$/.test(header)) throw new LoginRefused()
    if (await acceptsToken(token)) {
      return { message: Buffer.alloc(0), user: { username: 'token', password: '', permissions: allPermissions } }
    }
    // The error is sent as a challenge, which the client must answer before the login fails.
    wasRefused = true
    return { message: Buffer.from(JSON.stringify({ status: 'invalid_token' })) }
  }
}
