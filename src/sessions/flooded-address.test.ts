// Effect of a flood of sign-ins from one address on browsers behind it and elsewhere (docs/decisions, right credentials).
import assert from 'node:assert/strict'
import crypto, { createHash } from 'node:crypto'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { FairQueue } from '../lib/fair-queue.ts'
import { hashPassword } from '../lib/password.ts'

const password = 'correct horse battery staple'

onBothDatabases('an address that sends as many sign-ins as may wait', (app) => {
  it('keeps out new browsers behind it, and neither known ones nor those elsewhere', async (t) => {
    const pending: (() => void)[] = []
    const compared: string[] = []
    let areHeld = false
    t.mock.method(
      crypto,
      'argon2',
      (_name: string, { message, nonce }: crypto.Argon2Parameters, done: (error: null, tag: Buffer) => void) => {
        const tag = createHash('sha256')
          .update(String(message))
          .update(nonce as Buffer)
          .digest()
        const answer = () => done(null, tag)
        if (areHeld) {
          compared.push(String(message))
          pending.push(answer)
        } else setImmediate(answer)
      },
    )
    let queuedCalls = 0
    const { run } = FairQueue.prototype
    t.mock.method(FairQueue.prototype, 'run', function (this: FairQueue, ...call: Parameters<typeof run>) {
      queuedCalls++
      return run.apply(this, call)
    })
    // Whatever fails, the queues of this process are free for other tests.
    t.after(() => {
      areHeld = false
      for (const answer of pending) answer()
    })
    const { organizationId } = app().sample
    const userId = await app().addMember(organizationId, 'developer')
    await app().query(`UPDATE users SET password_hash = '${await hashPassword(password)}' WHERE id = '${userId}'`)
    const email = `${userId}@northwind.example`
    const signIn = (address: string, sent: { email: string; password: string }, cookie?: string) =>
      app().request('POST', '/console/api/session', {
        key: null,
        address,
        headers: { origin: 'https://penstock.example.com', ...(cookie === undefined ? {} : { cookie }) },
        body: sent,
      })
    const office = freshAddress()
    const first = await signIn(office, { email, password })
    const device = String((first.headers['set-cookie'] as unknown as string[])[1]).split(';')[0]!

    areHeld = true
    let settled = 0
    const flood = Array.from({ length: 66 }, (_, index) =>
      signIn(office, { email: `${index}@northwind.example`, password: 'wrong' }).finally(() => settled++),
    )
    // One is compared, 64 wait, and one exceeds the queue.
    while (settled < 1) await nextTurn()
    const newBrowser = await signIn(office, { email, password })
    assert.equal(newBrowser.status, 503)
    assert.match(String(newBrowser.headers['retry-after']), /^\d+$/)

    const queuedBefore = queuedCalls
    const waiting = [signIn(office, { email, password }, device), signIn(freshAddress(), { email, password })]
    let isRefused = false
    for (const one of waiting) void one.then(({ status }) => (isRefused ||= status !== 200))
    // A database may take longer to find their accounts than this loop takes for many hashes.
    while (!isRefused && queuedCalls < queuedBefore + waiting.length) await nextTurn()
    while (!isRefused && compared.filter((message) => message === password).length < 2) {
      pending.shift()?.()
      await nextTurn()
    }
    assert.equal(isRefused, false)
    const before = compared.lastIndexOf(password)
    assert.ok(before < 10, `${before} hashes were computed before theirs`)
    areHeld = false
    for (const answer of pending) answer()
    await Promise.all(flood)
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      [200, 200],
    )
  })
})
