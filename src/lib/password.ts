// Password hashes: argon2id in the PHC string format. Loaded only for sign-in and password changes. `crypto` is used as an object, so
// that a test can count the hashes.
import crypto from 'node:crypto'
import { FairQueue, QueueFull } from './fair-queue.ts'
import { Problem } from './problem.ts'

/** Cost of a hash: 19 MiB and two passes. */
const memoryKib = 19_456
const passes = 2
const parallelism = 1
const saltBytes = 16
const tagBytes = 32

/** Each hash takes its memory and a thread of the pool: more at once would slow down everything else. */
const limits = { atOnce: 1, mostWaiting: 256, mostWaitingPerKey: 64 }

/** Known callers never wait behind strangers, however many passwords these guess. */
const queues = { known: new FairQueue(limits), stranger: new FairQueue(limits) }

/** The caller for whom a hash is computed. */
export interface PasswordCaller {
  standing: keyof typeof queues
  /** Key in the fair queue, such as the person or the network of the caller: keys are served alternately. */
  queueKey: string
}

const thisProcess: PasswordCaller = { standing: 'known', queueKey: 'this process' }

export async function hashPassword(password: string, caller = thisProcess): Promise<string> {
  const salt = crypto.randomBytes(saltBytes)
  const parameters = { memoryKib, passes, parallelism }
  return formatHash({
    ...parameters,
    salt,
    tag: await runQueued(caller, () => computeTag(password, { ...parameters, salt })),
  })
}

/** Whether the password matches the hash. Without a hash (no such user, or no password) it does the same work and returns false. */
export async function verifyPassword(
  password: string,
  storedHash: string | undefined,
  caller: PasswordCaller,
): Promise<boolean> {
  const stored = parseHash(storedHash ?? dummyHash())
  const tag = await runQueued(caller, () => computeTag(password, stored))
  return crypto.timingSafeEqual(tag, stored.tag) && storedHash !== undefined
}

interface PasswordHash {
  memoryKib: number
  passes: number
  parallelism: number
  salt: Buffer
  tag: Buffer
}

let cachedDummyHash: string | undefined

function dummyHash(): string {
  cachedDummyHash ??= formatHash({
    memoryKib,
    passes,
    parallelism,
    salt: crypto.randomBytes(saltBytes),
    tag: crypto.randomBytes(tagBytes),
  })
  return cachedDummyHash
}

function computeTag(password: string, hash: Omit<PasswordHash, 'tag'>): Promise<Buffer> {
  const parameters = {
    // Composed and decomposed accents are equal.
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

async function runQueued<Value>({ standing, queueKey }: PasswordCaller, work: () => Promise<Value>): Promise<Value> {
  try {
    return await queues[standing].run(queueKey, work)
  } catch (error) {
    if (!(error instanceof QueueFull)) throw error
    throw new Problem('unavailable', 'too many concurrent sign-ins; try again in a second', {
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
  const [, memory, time, threads, salt, tag] = match
  return {
    memoryKib: Number(memory),
    passes: Number(time),
    parallelism: Number(threads),
    salt: Buffer.from(salt!, 'base64'),
    tag: Buffer.from(tag!, 'base64'),
  }
}
