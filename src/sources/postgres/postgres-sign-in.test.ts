// Sign-in with a password and sessions of probes, at PostgreSQL and at servers that violate SCRAM.
import assert from 'node:assert/strict'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { linkTo, linkToStandIn, ready } from '../../../test/sources/postgres-links.ts'
import { message, signInRequest, standIn } from '../../../test/sources/postgres-servers.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { openSession } from './postgres-connection.ts'
import { escapeIdentifier, escapeLiteral } from './postgres-names.ts'
import { Scram } from './postgres-scram.ts'

const never = new AbortController().signal

describe('a password for PostgreSQL', () => {
  let server: EmbeddedPostgres
  /** SASLprep changes it: a ligature, another space, a soft hyphen. */
  const password = "sésame ﬁ\u00a0x\u00ad\\'"

  before(async () => {
    server = await startEmbedded()
    const literal = escapeLiteral(password)
    await server.query(`CREATE ROLE by_scram LOGIN PASSWORD ${literal}; CREATE ROLE in_clear LOGIN PASSWORD ${literal}`)
    await server.query(`SET password_encryption = 'md5'; CREATE ROLE by_md5 LOGIN PASSWORD ${literal}`)
    const path = join(server.dataDirectory, 'pg_hba.conf')
    const rules = await readFile(path, 'utf8')
    await writeFile(path, 'hostssl all by_md5 all md5\nhostssl all in_clear all password\n')
    await appendFile(path, rules)
    await server.query('SELECT pg_reload_conf()')
  })
  after(() => server?.stop())

  for (const username of ['by_scram', 'by_md5', 'in_clear']) {
    it(`is accepted from the role ${username}, and a wrong one is not`, async () => {
      const link = await linkTo(server, { username, password })
      assert.deepEqual(await link.query('SELECT current_user'), [[username]])
      await link.close()
      await assert.rejects(linkTo(server, { username, password: 'wrong' }), { code: 'credentials_refused' })
    })
  }

  it('opens a session that has all values as they are', async () => {
    const { host, port, ca, superuser } = server
    const session = await openSession(
      { host, port, database: 'postgres', ...superuser },
      { organizationId: 'organization', caCertificates: ca, allowPlaintext: false, awsEndpoints: {} },
      { egress: loopbackEgress, signal: never, maxRecords: 1, begin: () => undefined },
    )
    const text = fc.string({ unit: fc.constantFrom(...'ab"\'\\,{} \n$1é漢NUL') })
    const lists = fc.oneof(fc.array(text), fc.constant(['NULL', '', 'null']))
    try {
      await fc.assert(
        fc.asyncProperty(
          text,
          lists,
          fc.boolean(),
          fc.integer({ min: -5, max: 5 }),
          async (one, list, flag, number) => {
            const [row] = await session.query(
              `SELECT $1::text AS one, $2::text[] AS list, to_jsonb($2::text[]) AS json, $3::bool AS flag, $4::int AS number,
               NULL::int AS missing, $1 = ${escapeLiteral(one)} AS "isSame", 1 AS ${escapeIdentifier(`n${one}`.slice(0, 9))}`,
              [one, list, flag, number],
            )
            const name = `n${one}`.slice(0, 9)
            const expected = { one, list, json: list, flag, number, missing: null, isSame: true, [name]: 1 }
            assert.deepEqual(row, expected)
          },
        ),
        { numRuns: 200 },
      )
      assert.deepEqual(await session.query(`SELECT '{a,NULL}'::text[] AS list WHERE $1`, [true]), [
        { list: ['a', null] },
      ])
      assert.deepEqual(await session.query('SELECT 1 AS one WHERE $1', [false]), [])
    } finally {
      await session.close()
    }
  })
})

describe('SCRAM', () => {
  const salt = 'c2FsdA=='
  const begin = () => {
    const scram = new Scram(['SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256'])
    return { scram, nonce: /,r=(.+)$/.exec(scram.clientFirst)![1]! }
  }
  const other = { failure: 'other scram' }

  it('requires the method that PostgreSQL has', () => {
    assert.throws(() => new Scram(['SCRAM-SHA-256-PLUS', 'SCRAM-SHA-1']), other)
  })

  it('rejects an invalid first message', async () => {
    const { scram, nonce } = begin()
    for (const first of [
      '',
      `r=${nonce},s=${salt},i=4096`,
      `r=x${nonce},s=${salt},i=4096`,
      `r=${nonce}x,s=${salt}`,
      `r=${nonce}x,s=c2FsdA,i=4096`,
      `r=${nonce}x,s=,i=4096`,
      `r=${nonce}x,s=${salt},i=0`,
      `r=${nonce}x,s=${salt},i=100001`,
      `r=${nonce}x,s=${salt},i=4096,i=1`,
      `m=1,r=${nonce}x,s=${salt},i=4096`,
    ]) {
      await assert.rejects(scram.clientFinal(first, 'sesame', false), other, first)
    }
    await assert.rejects(scram.clientFinal(`r=${nonce}x,s=${salt},i=4095`, 'sesame', true), {
      failure: 'password kept',
    })
  })

  it('requires the proof of the server, also when it comes too early', async () => {
    const { scram, nonce } = begin()
    assert.throws(() => scram.verify('v='), other)
    assert.throws(() => scram.verify('v=undefined'), other)
    await scram.clientFinal(`r=${nonce}x,s=${salt},i=1`, 'sesame', false)
    for (const final of ['', 'v=', 'e=other-error', `v=${Buffer.alloc(32).toString('base64')}`]) {
      assert.throws(() => scram.verify(final), other)
    }
  })

  const sasl = (step: number, text: string) =>
    message('R', Buffer.concat([signInRequest(step).subarray(5), Buffer.from(text)]))

  it('ends the link when the server gives no proof, or a request is invalid', async () => {
    const first = sasl(10, 'SCRAM-SHA-256\0\0')
    const begun = (said: Buffer): Buffer =>
      sasl(11, `r=${/,r=([^,\0]+)$/.exec(said.toString('latin1'))![1]}x,s=${salt},i=1`)
    const accepted = Buffer.concat([signInRequest(0), ready])
    for (const demands of [
      [first, begun, Buffer.concat([sasl(12, `v=${Buffer.alloc(32).toString('base64')}`), accepted])],
      [first, begun, accepted],
      [first, accepted],
      [first, sasl(12, 'v=')],
      [sasl(12, 'v=')],
      [message('R', Buffer.from([0, 0, 0, 5, 1]))],
      [ready],
    ]) {
      const said: Buffer[] = []
      const server = await standIn((socket) => {
        const left = [Buffer.from('N'), ...demands]
        socket.on('data', (bytes) => {
          said.push(bytes)
          const next = left.shift()
          if (next) socket.write(typeof next === 'function' ? next(bytes) : next)
          else socket.destroy()
        })
      })
      await assert.rejects(linkToStandIn(server.port), (error: NotConnected) => {
        assert.ok(error instanceof NotConnected)
        assert.equal((error.cause as { code?: string } | undefined)?.code, 'protocol_mismatch')
        return true
      })
      assert.doesNotMatch(Buffer.concat(said).toString('latin1'), /sesame|md5/)
      await server.stop()
    }
  })
})
