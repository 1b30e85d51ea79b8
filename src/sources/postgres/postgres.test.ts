// PostgreSQL conformance suite against the embedded server of npm, and tests that need that server.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loopbackEgress, probe, probeFails } from '../../../test/sources/conformance.ts'
import { postgresConformance } from '../../../test/sources/postgres-conformance.ts'
import { queryAt, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { mapping, password, secrets, sourceOf } from '../../../test/sources/postgres-world.ts'
import { openSession } from './postgres-connection.ts'

postgresConformance(startEmbedded)

describe('PostgreSQL as it is out of the box', () => {
  const url = process.env.PENSTOCK_TEST_POSTGRES!
  const address = { host: '127.0.0.1', port: Number(new URL(url).port), ca: '' }
  const context = { allowPlaintext: true, caCertificates: undefined }
  const { username, password: ownPassword } = new URL(url)
  const change = { database: 'postgres', credentials: { username, password: ownPassword }, context }
  const ownSecrets = [ownPassword]

  it('has a wal_level that is too low, except for a snapshot', async () => {
    const tableMappings = [mapping('probed_here', { sourceSchemaName: 'public' })]
    await queryAt(url, 'CREATE TABLE public.probed_here (id int PRIMARY KEY)', 'postgres')
    try {
      const expected = { step: 'describe', code: 'not_set_up', field: 'settings.replicationMode' } as const
      const failure = await probeFails(sourceOf(address, { ...change, tableMappings }), expected, {
        secrets: ownSecrets,
      })
      assert.match(failure.remedy, /ALTER SYSTEM SET wal_level = logical/)
      const settings = { replicationMode: 'snapshot' } as const
      const { samples } = await probe(sourceOf(address, { ...change, tableMappings, settings }))
      assert.equal(samples.length, 1)
    } finally {
      await queryAt(url, 'DROP TABLE public.probed_here', 'postgres')
    }
  })

  it('is rejected without TLS unless plain text is allowed', async () => {
    const expected = { step: 'tls', code: 'tls_refused', field: 'host' } as const
    const refused = sourceOf(address, { ...change, context: { ...context, allowPlaintext: false } })
    await probeFails(refused, expected, { secrets: ownSecrets })
  })

  it('allows no writes in a session', async () => {
    const session = await openSession(
      { ...address, database: 'postgres', username, password: ownPassword },
      { ...context, organizationId: 'organization', awsEndpoints: {} },
      { egress: loopbackEgress, signal: AbortSignal.timeout(5_000), maxRecords: 1, begin: () => undefined },
    )
    try {
      const settings = await session.query(`
        SELECT current_setting('application_name') AS name, current_setting('client_encoding') AS encoding,
          current_setting('transaction_read_only') AS "isReadOnly", current_setting('statement_timeout') AS "limit"`)
      assert.deepEqual(settings, [{ name: 'penstock', encoding: 'UTF8', isReadOnly: 'on', limit: '10s' }])
      await assert.rejects(session.query('CREATE TABLE public.written ()'), { code: '25006' })
    } finally {
      await session.close()
    }
  })
})

describe('PostgreSQL and the environment', () => {
  it('is not affected by it', async () => {
    const url = process.env.PENSTOCK_TEST_POSTGRES!
    const { username, password: ownPassword, port } = new URL(url)
    const foreign = {
      PGHOST: '203.0.113.1',
      PGPORT: '1',
      PGUSER: username,
      PGPASSWORD: ownPassword,
      PGDATABASE: 'elsewhere',
      PGOPTIONS: '-c no_such_setting=1',
      PGAPPNAME: 'somebody',
      PGSSLMODE: 'require',
      PGSSLNEGOTIATION: 'direct',
      PGREPLICATION: 'database',
      PGCLIENT_ENCODING: 'LATIN1',
      PGPASSFILE: '/dev/null',
    }
    const before = { ...process.env }
    Object.assign(process.env, foreign)
    try {
      const address = { host: '127.0.0.1', port: Number(port), ca: '' }
      const change = { database: 'postgres', tableMappings: [], context: { allowPlaintext: true } }
      await probe(sourceOf(address, { ...change, credentials: { username, password: ownPassword } }))
      // The login of the environment would succeed.
      const expected = { step: 'authenticate', code: 'credentials_refused' } as const
      for (const credentials of [{ username }, { username, password: '' }, { password: ownPassword }]) {
        await probeFails(sourceOf(address, { ...change, credentials }), expected, { secrets: [ownPassword] })
      }
      const wrong = sourceOf(address, { ...change, credentials: { username, password } })
      await probeFails(wrong, expected, { secrets: [...secrets, ownPassword] })
    } finally {
      for (const name of Object.keys(foreign)) delete process.env[name]
      Object.assign(process.env, before)
    }
  })
})
