// Passwords are kept as argon2id hashes in the PHC string format. Loaded only when somebody signs in or sets a password.
// The module is used as an object, so that a test can count how often a hash is computed.
import crypto from 'node:crypto'
import { Problem } from './problem.ts'

/** 19 MiB and two passes: what a guess costs everybody, us included. */
const memoryKib = 19_456
const passes = 2
const parallelism = 1
const saltBytes = 16
const tagBytes = 32

/** Each takes its memory and a thread of the pool: more at once would slow down everything else. */
const mostAtOnce = 2
const mostWaiting = 64

let running = 0
const waiting: (() => void)[] = []

export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(saltBytes)
  const parameters = { memoryKib, passes, parallelism }
  return formatHash({ ...parameters, salt, tag: await inTurn(() => computeTag(password, { ...parameters, salt })) })
}

/**
 * Whether the password is the one of the hash. Without a hash (nobody has this name, or the person has no password) it does
 * the same work and says no.
 */
export async function verifyPassword(password: string, storedHash: string | undefined): Promise<boolean> {
  const stored = parseHash(storedHash ?? nobodysHash())
  const tag = await inTurn(() => computeTag(password, stored))
  return crypto.timingSafeEqual(tag, stored.tag) && storedHash !== undefined
}

interface PasswordHash {
  memoryKib: number
  passes: number
  parallelism: number
  salt: Buffer
  tag: Buffer
}

let nobody: string | undefined

function nobodysHash(): string {
  nobody ??= formatHash({
    memoryKib,
    passes,
    parallelism,
    salt: crypto.randomBytes(saltBytes),
    tag: crypto.randomBytes(tagBytes),
  })
  return nobody
}

function computeTag(password: string, hash: Omit<PasswordHash, 'tag'>): Promise<Buffer> {
  const parameters = {
    // However a keyboard puts an accent and its letter together.
    message: password.normalize('NFC'),
    nonce: hash.salt,
    memory: hash.memoryKib,
    passes: hash.passes,
    parallelism: hash.parallelism,
    tagLength: tagBytes,
  }
  return new Promise((resolve, reject) => {
    crypto.argon2('argon2id', parameters, (err, tag) => (err ? reject(err) : resolve(tag)))
  })
}

async function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
  if (running >= mostAtOnce) {
    if (waiting.length >= mostWaiting) {
      throw new Problem('unavailable', 'too many people are signing in right now; try again in a moment', {
        headers: { 'retry-after': '1' },
        isOverload: true,
      })
    }
    // Whoever ends hands its place over.
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

const hashFormat = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function formatHash({ memoryKib, passes, parallelism, salt, tag }: PasswordHash): string {
  const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

function parseHash(text: string): PasswordHash {
  const match = hashFormat.exec(text)
  if (!match) throw new Error('a stored password hash is not one of argon2id')
  const [, memory, time, lanes, salt, tag] = match
  return {
    memoryKib: Number(memory),
    passes: Number(time),
    parallelism: Number(lanes),
    salt: Buffer.from(salt!, 'base64'),
    tag: Buffer.from(tag!, 'base64'),
  }
}
