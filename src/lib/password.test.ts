import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { afterEach, describe, it, mock } from 'node:test'
import { hashPassword, type PasswordCaller, verifyPassword } from './password.ts'
import { Problem } from './problem.ts'

const stranger: PasswordCaller = { standing: 'stranger', queueKey: '192.0.2.1' }

describe('passwords', () => {
  afterEach(() => mock.restoreAll())

  it('are kept as argon2id hashes with their parameters, each with a salt of its own', async () => {
    const [one, other] = [await hashPassword('correct horse battery'), await hashPassword('correct horse battery')]
    for (const hash of [one, other]) {
      assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
      assert.equal(await verifyPassword('correct horse battery', hash, stranger), true)
    }
    assert.notEqual(one, other)
    for (const wrong of ['', 'correct horse batter', 'Correct horse battery', 'correct horse battery ']) {
      assert.equal(await verifyPassword(wrong, one, stranger), false, wrong)
    }
  })

  it('are verified with the parameters that the hash names', async () => {
    const salt = Buffer.from('somesalt1234')
    const tag = crypto.argon2Sync('argon2id', {
      message: 'a password',
      nonce: salt,
      memory: 1024,
      passes: 3,
      parallelism: 2,
      tagLength: 32,
    })
    const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
    const hash = `$argon2id$v=19$m=1024,t=3,p=2$${text(salt)}$${text(tag)}`
    assert.equal(await verifyPassword('a password', hash, stranger), true)
    assert.equal(await verifyPassword('another one', hash, stranger), false)
  })

  it('are the same however their letters are composed', async () => {
    const hash = await hashPassword('caf\u00e9 cr\u00e8me')
    assert.equal(await verifyPassword('cafe\u0301 cre\u0300me', hash, stranger), true)
  })

  it('take the same work for an unknown user', async () => {
    const computed = mock.method(crypto, 'argon2')
    const hash = await hashPassword('correct horse battery')
    await verifyPassword('correct horse battery', hash, stranger)
    assert.equal(await verifyPassword('correct horse battery', undefined, stranger), false)
    const parameters = computed.mock.calls.map(({ arguments: [algorithm, { memory, passes, parallelism, nonce }] }) => {
      return { algorithm, memory, passes, parallelism, saltBytes: (nonce as Buffer).length }
    })
    assert.equal(parameters.length, 3)
    assert.deepEqual(parameters[1], parameters[0])
    assert.deepEqual(parameters[2], parameters[0])
  })

  it('are compared one at a time, separately for known callers, and 64 may wait per queue key', async () => {
    const pending: ((tag: Buffer) => void)[] = []
    let most = 0
    mock.method(
      crypto,
      'argon2',
      (_algorithm: unknown, _parameters: unknown, done: (err: null, tag: Buffer) => void) => {
        pending.push((tag) => done(null, tag))
        most = Math.max(most, pending.length)
      },
    )
    const started = Array.from({ length: 65 }, () => verifyPassword('x', undefined, stranger))
    await assert.rejects(verifyPassword('x', undefined, stranger), (error) => {
      assert.ok(error instanceof Problem)
      assert.equal(error.status, 503)
      assert.equal(error.headers['retry-after'], '1')
      return true
    })
    const others = [
      verifyPassword('x', undefined, { standing: 'stranger', queueKey: '192.0.2.2' }),
      verifyPassword('x', undefined, { standing: 'known', queueKey: '192.0.2.1' }),
    ]
    await new Promise(setImmediate)
    assert.equal(pending.length, 2)
    let answered = 0
    while (answered < 67) {
      for (const answer of pending.splice(0)) {
        answer(Buffer.alloc(32))
        answered++
      }
      await new Promise(setImmediate)
    }
    assert.deepEqual(new Set(await Promise.all([...started, ...others])), new Set([false]))
    assert.equal(most, 2)
    // The queue is empty again.
    mock.restoreAll()
    assert.equal(await verifyPassword('x', undefined, stranger), false)
  })
})
