// Checks of the environment: SQLite files, a PostgreSQL server, engines, a sign-in provider.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { startOpenidProvider } from '../../test/fakes/openid-provider.ts'
import { assertOnly, collect, findingsOf, goodMachine, trouble } from '../../test/harness/examination.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { loadMigrations } from '../database/migrate.ts'
import { startPostgres } from '../embedded-postgres/postgres-server.ts'
import { Egress, EgressError } from '../lib/egress.ts'
import type { EgressAnswer, EgressRequest } from '../lib/egress-http.ts'
import { newId } from '../lib/id.ts'
import { Secret } from '../lib/secret.ts'
import { passwordContext } from '../services/service.ts'
import { insertService } from '../services/store.ts'
import { checkFacts } from './postgres.ts'
import type { PostgresFacts } from './store.ts'

describe('checks with a sign-in provider', () => {
  let app: TestApp
  before(async () => {
    app = await openTestApp('sqlite')
    await app.query('UPDATE services SET endpoint_url = NULL')
  })
  after(() => app?.close())

  it('fetch its metadata, and report when it does not answer', async () => {
    const provider = await startOpenidProvider('https://penstock.example.com/console/oidc/callback')
    const settings = { clientId: provider.clientId, clientSecret: new Secret(provider.clientSecret), name: 'Northwind' }
    const oidc = { ...settings, issuer: provider.issuer }
    try {
      assert.deepEqual(trouble(await findingsOf(app, { oidc })), [])
    } finally {
      await provider.close()
    }
    const findings = await findingsOf(app, { oidc })
    assertOnly(findings, 'sign-in provider', 'problem', /does not answer/, /PENSTOCK_OIDC_ISSUER/)
    assert.ok(!JSON.stringify(findings).includes(provider.clientSecret))
  })
})

describe('checks of SQLite files', () => {
  let app: TestApp
  let folder: string
  before(async () => {
    app = await openTestApp('sqlite')
    await app.query('UPDATE services SET endpoint_url = NULL')
    folder = mkdtempSync(join(tmpdir(), 'penstock-doctor-'))
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await app?.close()
  })

  it('report a missing file, and one that is not a database', async () => {
    const dataFolder = join(folder, 'none')
    const { masterKeyFile } = app.config
    const away = await findingsOf(app, { dataFolder, masterKeyFile })
    assert.deepEqual(
      trouble(away).map(({ check }) => check),
      ['data folder', 'database'],
    )
    const never = trouble(await findingsOf(app, { dataFolder, masterKeyFile: join(dataFolder, 'master-keys.json') }))
    const keyFinding = never.find(({ check }) => check === 'master key file')!
    assert.match(keyFinding.found, /this Penstock has not been set up yet$/)
    assert.match(keyFinding.remedy!, /^run "penstock init", or correct PENSTOCK_DATA/)
    const noFolder = trouble(await findingsOf(app, { dataFolder: masterKeyFile, masterKeyFile }))
    assert.deepEqual(noFolder.map(({ check, found }) => [check, found]).slice(0, 1), [
      ['data folder', `${masterKeyFile} is not a folder`],
    ])
    mkdirSync(dataFolder, { mode: 0o700 })
    const file = join(dataFolder, 'penstock.db')
    assertOnly(
      await findingsOf(app, { dataFolder, masterKeyFile }),
      'database',
      'problem',
      /^there is no SQLite/,
      /init/,
    )
    writeFileSync(file, 'this is not a database, and it is long enough to be read as the header of one '.repeat(100))
    assertOnly(await findingsOf(app, { dataFolder, masterKeyFile }), 'database', 'problem', /cannot be read/, /backup/)
  })

  it('report a file with other settings than Penstock sets', async () => {
    const dataFolder = join(folder, 'copied')
    mkdirSync(dataFolder, { mode: 0o700 })
    await app.query(`VACUUM INTO '${join(dataFolder, 'penstock.db')}'`)
    const findings = await findingsOf(app, { dataFolder })
    assertOnly(findings, 'durability', 'warning', /^journal_mode=delete/, /^start Penstock once/)
  })

  it('report a file with another owner than its folder', { skip: process.getuid?.() !== 0 }, async () => {
    const lock = join(app.config.dataFolder, 'penstock.db.lock')
    chownSync(lock, 4711, -1)
    try {
      const found = /penstock\.db\.lock belongs to user 4711, and its folder to user 0$/
      assertOnly(await findingsOf(app, {}), 'database', 'problem', found, /^run "chown 0 /)
    } finally {
      chownSync(lock, 0, -1)
    }
  })

  it('report a file that the server may not write', async () => {
    const file = join(app.config.dataFolder, 'penstock.db')
    chmodSync(file, 0o400)
    try {
      assertOnly(
        await findingsOf(app, {}),
        'database',
        'problem',
        /penstock\.db is closed to its owner \(mode 0400\)$/,
        /chmod 600/,
      )
    } finally {
      chmodSync(file, 0o600)
    }
  })
})

describe('checks of many engines', () => {
  class SilentEgress extends Egress {
    underWay = 0
    mostUnderWay = 0

    constructor() {
      super({ allowLoopback: false, allowPlaintext: true, deniedAddresses: [] })
    }

    override async request(request: EgressRequest): Promise<EgressAnswer> {
      this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay)
      assert.equal(request.timeoutMs, 10_000)
      await setImmediate()
      this.underWay--
      throw new EgressError('timed out')
    }
  }

  it('run 20 at once, and list 20', async () => {
    const app = await openTestApp('sqlite')
    try {
      await app.query('UPDATE services SET endpoint_url = NULL')
      const { organizationId } = app.sample
      const now = new Date().toISOString()
      for (let count = 0; count < 45; count++) {
        const id = newId()
        const sealedPassword = app.app.vault.seal('canary-engine-password', passwordContext({ id, organizationId }))
        const endpoint = { url: 'http://engine.example:8123', username: 'default', sealedPassword }
        const service = { id, organizationId, name: `engine ${count}`, provider: 'aws', region: 'us-east-1' } as const
        await insertService(app.sql, { ...service, endpoint, now })
      }
      const egress = new SilentEgress()
      const config = { ...app.config, allowLoopback: false, allowPlaintext: false }
      const findings = trouble(await collect(config, goodMachine, egress))
      assert.equal(egress.mostUnderWay, 20)
      assert.deepEqual(
        new Set(findings.map(({ check, verdict }) => `${check} ${verdict}`)),
        new Set(['engines warning']),
      )
      assert.equal(findings.length, 21)
      assert.match(findings[0]!.found, /^service "engine \d+" \S+: engine\.example:8123 did not answer in time$/)
      assert.equal(findings.at(-1)!.found, '25 more of 45 engines do not answer')
      assert.ok(!JSON.stringify(findings).includes('canary'))
    } finally {
      await app.close()
    }
  })
})

describe('facts about PostgreSQL', () => {
  const good: PostgresFacts = {
    settings: {
      data_checksums: 'on',
      default_transaction_isolation: 'read committed',
      default_transaction_read_only: 'off',
      fsync: 'on',
      full_page_writes: 'on',
      max_connections: '100',
      server_version: '15.18 (Debian 15.18-0+deb12u1)',
      server_version_num: '150018',
      superuser_reserved_connections: '3',
      synchronous_commit: 'on',
    },
    isStandby: false,
    connections: 8,
    ofPenstock: 6,
    connectionLimit: undefined,
    applied: loadMigrations().map(({ number }) => number),
  }
  const judged = (changes: Partial<PostgresFacts>, settings: PostgresFacts['settings'] = {}) =>
    checkFacts({ ...good, ...changes, settings: { ...good.settings, ...settings } })

  it('lead to findings', () => {
    assert.deepEqual(trouble(judged({})), [])
    assert.deepEqual(
      judged({}).map(({ found }) => found),
      [
        'PostgreSQL 15.18',
        'fsync=on, synchronous_commit=on, full_page_writes=on',
        'writable; writes are read committed, whatever the default (read committed)',
        '8 of 97 in use; a process of Penstock takes up to 6',
        `${loadMigrations().length}, which is this version's`,
      ],
    )
    assertOnly(judged({}, { server_version_num: '110022' }), 'database', 'problem', /older/, /12 or newer/)
    assertOnly(judged({}, { data_checksums: 'off' }), 'durability', 'warning', /^data_checksums=off/, /pg_checksums/)
    assertOnly(judged({}, { full_page_writes: 'off' }), 'durability', 'problem', /^full_page_writes=off/, /=on/)
    assertOnly(judged({ isStandby: true }), 'transactions', 'problem', /standby/, /primary/)
    assertOnly(judged({ connections: 95 }), 'connections', 'warning', /^95 of 97/, /max_connections/)
    assertOnly(judged({ connectionLimit: 5 }), 'connections', 'problem', /^8 of 5/, /max_connections/)
    assertOnly(judged({ applied: [] }), 'schema', 'problem', /no tables of Penstock/, /penstock init/)
  })
})

describe('checks of a PostgreSQL server', () => {
  let app: TestApp
  let server: Awaited<ReturnType<typeof startPostgres>>
  before(async () => {
    server = await startPostgres()
    app = await openTestApp('postgres', { databaseUrl: await server.createDatabase('penstock') })
    await app.query('UPDATE services SET endpoint_url = NULL')
  })
  after(async () => {
    await app?.close()
    await server?.stop()
  })

  async function withSetting(change: string, back: string, work: () => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const apply = async (text: string) => {
      await client.query(text)
      await client.query('SELECT pg_reload_conf()')
      // Applies to new sessions.
      for (let left = 100; left > 0 && text.includes('SYSTEM'); left--) {
        const { rows } = await client.query('SHOW fsync')
        if ((rows[0].fsync === 'off') === text.includes('= off')) break
      }
    }
    try {
      await apply(change)
      await work()
    } finally {
      await apply(back)
      await client.end()
    }
  }

  it('report settings that may lose confirmed changes', async () => {
    await withSetting('ALTER SYSTEM SET fsync = off', 'ALTER SYSTEM RESET fsync', async () => {
      assertOnly(await findingsOf(app), 'durability', 'problem', /^fsync=off: /, /^set fsync=on in PostgreSQL$/)
    })
    await withSetting(
      'ALTER DATABASE penstock SET synchronous_commit = off',
      'ALTER DATABASE penstock RESET synchronous_commit',
      async () => {
        assertOnly(await findingsOf(app), 'durability', 'problem', /^synchronous_commit=off: /, /synchronous_commit=on/)
      },
    )
  })

  it('report a server that accepts no writes, or has no connections left', async () => {
    await withSetting(
      'ALTER DATABASE penstock SET default_transaction_read_only = on',
      'ALTER DATABASE penstock RESET default_transaction_read_only',
      async () => {
        assertOnly(await findingsOf(app), 'transactions', 'problem', /no write is taken$/, /read_only=off/)
      },
    )
    await withSetting(
      'ALTER DATABASE penstock CONNECTION LIMIT 10',
      'ALTER DATABASE penstock CONNECTION LIMIT -1',
      async () => {
        assertOnly(await findingsOf(app), 'connections', 'warning', /^\d+ of 10 in use/, /^raise max_connections/)
      },
    )
  })

  it('report that users of the API could reach it', async () => {
    const config = { ...app.config, allowLoopback: false, allowPlaintext: false }
    const open = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
    const findings = await collect(config, goodMachine, open)
    assertOnly(findings, 'egress', 'problem', /connect to its own database/, /DATABASE_URL/)
  })

  it('report that it is unreachable, without showing the password', async () => {
    const url = new URL(app.config.databaseUrl!)
    url.port = '1'
    const findings = await findingsOf(app, { databaseUrl: url.href })
    assertOnly(
      findings,
      'database',
      'problem',
      /127\.0\.0\.1:1\/penstock cannot be used: nothing listens/,
      /DATABASE_URL/,
    )
    assert.ok(!JSON.stringify(findings).includes(url.password))
  })
})
