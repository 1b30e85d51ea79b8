import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { afterEach, describe, it, mock } from 'node:test'
import { hashPassword, verifyPassword } from './password.ts'
import { Problem } from './problem.ts'

describe('passwords', () => {
  afterEach(() => mock.restoreAll())

  it('are kept as argon2id hashes with their parameters, each with a salt of its own', async () => {
    const [one, other] = [await hashPassword('correct horse battery'), await hashPassword('correct horse battery')]
    for (const hash of [one, other]) {
      assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
      assert.equal(await verifyPassword('correct horse battery', hash), true)
    }
    assert.notEqual(one, other)
    for (const wrong of ['', 'correct horse batter', 'Correct horse battery', 'correct horse battery ']) {
      assert.equal(await verifyPassword(wrong, one), false, wrong)
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
    assert.equal(await verifyPassword('a password', hash), true)
    assert.equal(await verifyPassword('another one', hash), false)
  })

  it('are the same however their letters are composed', async () => {
    const hash = await hashPassword('caf\u00e9 cr\u00e8me')
    assert.equal(await verifyPassword('cafe\u0301 cre\u0300me', hash), true)
  })

  it('take the same work for nobody', async () => {
    const computed = mock.method(crypto, 'argon2')
    const hash = await hashPassword('correct horse battery')
    await verifyPassword('correct horse battery', hash)
    assert.equal(await verifyPassword('correct horse battery', undefined), false)
    const parameters = computed.mock.calls.map(({ arguments: [algorithm, { memory, passes, parallelism, nonce }] }) => {
      return { algorithm, memory, passes, parallelism, saltBytes: (nonce as Buffer).length }
    })
    assert.equal(parameters.length, 3)
    assert.deepEqual(parameters[1], parameters[0])
    assert.deepEqual(parameters[2], parameters[0])
  })

  it('are computed two at once, and 64 may wait', async () => {
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
    const started = Array.from({ length: 66 }, () => verifyPassword('x', undefined))
    await assert.rejects(verifyPassword('x', undefined), (error) => {
      assert.ok(error instanceof Problem)
      assert.equal(error.status, 503)
      assert.equal(error.headers['retry-after'], '1')
      return true
    })
    let answered = 0
    while (answered < 66) {
      for (const answer of pending.splice(0)) {
        answer(Buffer.alloc(32))
        answered++
      }
      await new Promise(setImmediate)
    }
    assert.deepEqual(new Set(await Promise.all(started)), new Set([false]))
    assert.equal(most, 2)
    // And the places are free again.
    mock.restoreAll()
    assert.equal(await verifyPassword('x', undefined), false)
  })
})
