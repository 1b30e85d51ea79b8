// S14: floods of wrong keys and passwords, from the same address and from others, lock out nobody with valid ones.
import assert from 'node:assert/strict'
import crypto, { createHash } from 'node:crypto'
import { it } from 'node:test'
import { hashPassword } from '../../src/lib/password.ts'
import { drillSize } from '../harness/drill.ts'
import { stopClock } from '../harness/stopped-clock.ts'
import { onBothDatabases, type TestApp, type TestResponse } from '../harness/test-app.ts'
import { freshAddress } from '../harness/world.ts'

const origin = 'https://penstock.example.com'
const password = 'correct horse battery staple'
/** Each round has ten wrong keys and passwords. */
const rounds = Math.ceil(drillSize(1_000) / 10)

onBothDatabases('strangers who guess', (app) => {
  it('S14 lock out nobody', async (t) => {
    // Throttles do not recover with time, and hashing takes no time.
    stopClock(t)
    t.mock.method(
      crypto,
      'argon2',
      (_name: string, { message, nonce }: crypto.Argon2Parameters, done: (error: null, tag: Buffer) => void) => {
        const tag = createHash('sha256')
          .update(String(message))
          .update(nonce as Buffer)
          .digest()
        setImmediate(() => done(null, tag))
      },
    )
    const { organizationId } = app().sample
    const passwordHash = await hashPassword(password)
    const addPerson = async () => {
      const userId = await app().addMember(organizationId, 'developer')
      await app().query(`UPDATE users SET password_hash = '${passwordHash}' WHERE id = '${userId}'`)
      return { userId, email: `${userId}@northwind.example` }
    }
    const [attacked, other] = [await addPerson(), await addPerson()]
    const session = await app().addSession(app().sample.userId)
    const office = freshAddress()
    const signIn = (email: string, sent: string, address: string, cookie?: string) =>
      app().request('POST', '/console/api/session', {
        key: null,
        address,
        headers: { origin, ...(cookie === undefined ? {} : { cookie }) },
        body: { email, password: sent },
      })
    const read = (key: TestApp['admin'], address: string) =>
      app().request('GET', `/v1/organizations/${organizationId}`, { key, address })
    const first = await signIn(attacked.email, password, office)
    const device = String((first.headers['set-cookie'] as unknown as string[])[1]).split(';')[0]!

    const wrongKey = { ...app().admin, secret: 'pst_wrong' }
    /** Ten wrong ones per round: at the key and account of real users, from their office and from elsewhere. */
    const strangers = (round: number) => [
      ...[office, office, office, freshAddress()].map((address) => read(wrongKey, address)),
      ...[office, office, freshAddress(), freshAddress()].map((address) => signIn(attacked.email, 'wrong', address)),
      ...[office, freshAddress()].map((address) => signIn(`${round}@northwind.example`, 'wrong', address)),
    ]
    const honest = (round: number) => [
      read(app().admin, office),
      read(app().admin, freshAddress()),
      app().request('GET', `/v1/organizations/${organizationId}`, { session, address: office }),
      app().request('GET', '/console/api/session', { session, address: office }),
      signIn(attacked.email, password, office, device),
      // In a browser without earlier sign-ins.
      round % 2 ? signIn(attacked.email, password, freshAddress()) : signIn(other.email, password, office),
    ]
    const refused: string[] = []
    const guesses: TestResponse[] = []
    for (let round = 0; round < rounds; round++) {
      const sent = strangers(round)
      const answers = await Promise.all(honest(round))
      for (const [index, { status }] of answers.entries()) if (status !== 200) refused.push(`${index}: ${status}`)
      guesses.push(...(await Promise.all(sent)))
    }
    assert.deepEqual(refused, [])
    assert.equal(guesses.length, 10 * rounds)
    assert.ok(guesses.every(({ status }) => status === 401 || status === 429))
    assert.ok(guesses.filter(({ status }) => status === 429).length > 3 * rounds)
  })
})
