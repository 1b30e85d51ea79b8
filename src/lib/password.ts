// Passwords are kept as argon2id hashes in the PHC string format. Loaded only when somebody signs in or sets a password.
// The module is used as an object, so that a test can count how often a hash is computed.
import crypto from 'node:crypto'
import { FairQueue, QueueFull } from './fair-queue.ts'
import { Problem } from './problem.ts'

/** 19 MiB and two passes: what a guess costs everybody, us included. */
const memoryKib = 19_456
const passes = 2
const parallelism = 1
const saltBytes = 16
const tagBytes = 32

/** Each takes its memory and a thread of the pool: more at once would slow down everything else. */
const limits = { atOnce: 1, mostWaiting: 256, mostWaitingInLane: 64 }

/** Those who have shown that they belong here never wait behind strangers, however many guess. */
const queues = { known: new FairQueue(limits), stranger: new FairQueue(limits) }

/** For whom a hash is computed. */
export interface Asker {
  standing: keyof typeof queues
  /** Waits only for others in the same lane, and one of each other lane: such as the person or the network of the caller. */
  lane: string
}

const thisProcess: Asker = { standing: 'known', lane: 'this process' }

export async function hashPassword(password: string, asker = thisProcess): Promise<string> {
  const salt = crypto.randomBytes(saltBytes)
  const parameters = { memoryKib, passes, parallelism }
  return formatHash({
    ...parameters,
    salt,
    tag: await inTurn(asker, () => computeTag(password, { ...parameters, salt })),
  })
}

/**
 * Whether the password is the one of the hash. Without a hash (nobody has this name, or the person has no password) it does
 * the same work and says no.
 */
export async function verifyPassword(password: string, storedHash: string | undefined, asker: Asker): Promise<boolean> {
  const stored = parseHash(storedHash ?? nobodysHash())
  const tag = await inTurn(asker, () => computeTag(password, stored))
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

async function inTurn<Value>({ standing, lane }: Asker, work: () => Promise<Value>): Promise<Value> {
  try {
    return await queues[standing].run(lane, work)
  } catch (error) {
    if (!(error instanceof QueueFull)) throw error
    throw new Problem('unavailable', 'too many people are signing in right now; try again in a moment', {
      headers: { 'retry-after': '1' },
      isOverload: true,
    })
  }
}

const hashFormat = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function formatHash({ memoryKib, passes, parallelism, salt, tag }: PasswordHash): string {
  const unpadded = (bytes: Buffer): string => bytes.toString('base64').split('=')[0]!
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
