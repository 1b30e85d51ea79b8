// An installation that is well, and then one thing after the other that is not: exactly that line says so, and what to do.
import assert from 'node:assert/strict'
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { startEngine, type TestEngine } from '../../test/fakes/engine.ts'
import { assertOnly, findingsOf, goodMachine, trouble } from '../../test/harness/examination.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { firstIdAt, newId } from '../lib/id.ts'
import { type MasterKeys, newMasterKeys, withNextKey } from '../lib/vault.ts'
import type { CheckName, Verdict } from './finding.ts'

onBothDatabases('an examination', (app) => {
  let engine: TestEngine
  before(async () => {
    engine = await startEngine()
    engine.password = 'canary-engine-password'
    const { organizationId, serviceId } = app().sample
    const endpoint = { url: engine.url, username: engine.username, password: engine.password }
    const { status, text } = await app().request('PATCH', `/v1/organizations/${organizationId}/services/${serviceId}`, {
      body: { endpoint },
    })
    assert.equal(status, 200, text)
  })
  after(() => engine?.stop())

  const keyFile = () => app().config.masterKeyFile
  const keys = () => JSON.parse(readFileSync(keyFile(), 'utf8')) as MasterKeys

  async function withKeys(changed: MasterKeys | string, work: () => Promise<void>): Promise<void> {
    const before = readFileSync(keyFile())
    writeFileSync(keyFile(), typeof changed === 'string' ? changed : JSON.stringify(changed))
    try {
      await work()
    } finally {
      writeFileSync(keyFile(), before)
    }
  }

  /** Inserts rows into the database and removes them again. */
  async function withChange(change: string, back: string, work: () => Promise<void>): Promise<void> {
    await app().query(change)
    try {
      await work()
    } finally {
      await app().query(back)
    }
  }

  it('reports ok for a healthy installation', async () => {
    const findings = await findingsOf(app())
    assert.deepEqual(trouble(findings), [])
    const foundOf = (check: CheckName) => findings.find((finding) => finding.check === check)?.found
    assert.match(foundOf('database')!, app().dialect === 'sqlite' ? /^SQLite 3\./ : /^PostgreSQL 18\./)
    assert.equal(
      foundOf('durability'),
      app().dialect === 'sqlite'
        ? 'journal_mode=WAL, synchronous=FULL'
        : 'fsync=on, synchronous_commit=on, full_page_writes=on',
    )
    assert.match(foundOf('sealed values')!, /^\d values, all sealed with k1; \d tried, and opened$/)
    assert.equal(foundOf('pipes'), '4 pipes: 1 Paused, 3 Stopped')
    assert.equal(foundOf('engines'), '1 of 1 engine answered (26.5.1.882)')
    assert.equal(foundOf('connections') !== undefined, app().dialect === 'postgres')
  })

  it('reports a data folder and a key file that other users can read', async () => {
    const { dataFolder } = app().config
    chmodSync(dataFolder, 0o755)
    assertOnly(await findingsOf(app()), 'data folder', 'problem', /\(mode 0755\)$/, /^run "chmod 700 /)
    chmodSync(dataFolder, 0o700)
    chmodSync(keyFile(), 0o644)
    assertOnly(await findingsOf(app()), 'master key file', 'problem', /\(mode 0644\)$/, /^run "chmod 600 /)
    chmodSync(keyFile(), 0o640)
    assertOnly(await findingsOf(app()), 'master key file', 'problem', /\(mode 0640\)$/, /^run "chmod 600 /)
    chmodSync(keyFile(), 0o600)
  })

  it('reports a data folder of another user', async () => {
    const machine = { ...goodMachine, userId: (goodMachine.userId ?? 0) + 1 }
    const folder = trouble(await findingsOf(app(), {}, machine)).find(({ check }) => check === 'data folder')!
    assert.equal(folder.verdict, 'problem')
    assert.match(folder.found, /belongs to user \d+, not to this user/)
  })

  it('reports a missing key file, and skips the checks that need it', async () => {
    renameSync(keyFile(), `${keyFile()}.away`)
    try {
      const findings = await findingsOf(app())
      assertOnly(findings, 'master key file', 'problem', /is missing$/, /^put back the file from your backup/)
      const made = findings.map(({ check }) => check)
      assert.deepEqual(
        ['key strength', 'sealed values', 'engines'].filter((name) => made.includes(name as CheckName)),
        [],
      )
    } finally {
      renameSync(`${keyFile()}.away`, keyFile())
    }
  })

  it('reports a key file that is damaged or lacks its current key', async () => {
    await withKeys('{"current":', async () => {
      assertOnly(await findingsOf(app()), 'master key file', 'problem', /is damaged/, /from your backup/)
    })
    await withKeys({ ...keys(), current: 'k9' }, async () => {
      assertOnly(await findingsOf(app()), 'master key file', 'problem', /k9 is not in the list/, /from your backup/)
    })
  })

  it('reports a weak key without showing it', async () => {
    const weak = Buffer.from('correct horse battery staple xyz').toString('base64')
    await withKeys({ ...keys(), keys: { ...keys().keys, k0: weak } }, async () => {
      const findings = await findingsOf(app())
      assertOnly(findings, 'key strength', 'problem', /^the master key k0 is text/, /"penstock keys rotate"/)
      assert.ok(!JSON.stringify(findings).includes(weak))
    })
    await withKeys({ ...keys(), keys: { ...keys().keys, k0: keys().keys.k1! } }, async () => {
      assertOnly(await findingsOf(app()), 'key strength', 'problem', /k1 and k0 are the same$/, /keys remove k0/)
    })
  })

  it('reports keys of another Penstock, and an unfinished rotation', async () => {
    await withKeys(newMasterKeys(), async () => {
      const findings = trouble(await findingsOf(app()))
      const sealed = findings.find(({ check }) => check === 'sealed values')!
      assert.equal(sealed.verdict, 'problem')
      assert.match(sealed.found, /^the master keys do not belong to this database/)
    })
    const { next, ...rotated } = withNextKey(keys())
    await withKeys({ ...rotated, current: next }, async () => {
      assertOnly(await findingsOf(app()), 'sealed values', 'warning', /sealed with old keys$/, /"penstock keys rotate"/)
    })
  })

  it('reports a damaged sealed value', async () => {
    const pipeId = app().sample.pipeIds.kafka
    const [row] = await app().query<{ secrets: string }>(`SELECT secrets FROM pipes WHERE id = '${pipeId}'`)
    const { secrets } = row!
    const damaged = `${secrets.slice(0, -2)}${secrets.endsWith('AA') ? 'BB' : 'AA'}`
    const set = (text: string) => `UPDATE pipes SET secrets = '${text}' WHERE id = '${pipeId}'`
    await withChange(set(damaged), set(secrets), async () => {
      const found = new RegExp(`^the secrets of pipe ${pipeId} cannot be opened`)
      assertOnly(await findingsOf(app()), 'sealed values', 'problem', found, /^update the pipe with its credentials$/)
    })
    await withChange(set(secrets.replace(/^k1\./, 'k7.')), set(secrets), async () => {
      const found = /; 1 value is sealed with keys that are not in the master key file$/
      assertOnly(await findingsOf(app()), 'sealed values', 'problem', found, /put back the keys from a copy/)
    })
  })

  it('reports tables of another version, and skips the checks of their data', async () => {
    const newer = `INSERT INTO schema_migrations (number, name, applied_at) VALUES (999, '0999-later', '')`
    await withChange(newer, 'DELETE FROM schema_migrations WHERE number = 999', async () => {
      const findings = await findingsOf(app())
      assertOnly(findings, 'schema', 'problem', /^schema 999, made by a newer Penstock/, /^use the newer version$/)
      assert.ok(!findings.some(({ check }) => check === 'pipes' || check === 'engines'))
    })
    const [newest] = await app().query<{ number: number; name: string; applied_at: string }>(
      'SELECT number, name, applied_at FROM schema_migrations ORDER BY number DESC LIMIT 1',
    )
    const { number, name, applied_at } = newest!
    await withChange(
      `DELETE FROM schema_migrations WHERE number = ${number}`,
      `INSERT INTO schema_migrations (number, name, applied_at) VALUES (${number}, '${name}', '${applied_at}')`,
      async () => {
        const found = new RegExp(`^schema ${number - 1}, and this version needs ${number}$`)
        assertOnly(await findingsOf(app()), 'schema', 'problem', found, /^start this version once/)
      },
    )
  })

  describe('of activities', () => {
    async function withActivity(atMs: number, work: () => Promise<void>): Promise<void> {
      // Nobody has changed this organization, so the sealer does not seal it.
      const { organizationId } = await app().addOrganization()
      const id = firstIdAt(atMs)
      await withChange(
        `INSERT INTO activities (organization_id, id, type, created_at, actor_type, actor_id, address, user_agent, request_id,
           target, changes)
         VALUES ('${organizationId}', '${id}', 'test', '${new Date(atMs).toISOString()}', 'user', '${newId()}', '', '', '', '{}', '[]')`,
        `DELETE FROM activities WHERE id = '${id}'`,
        work,
      )
    }

    it('reports a clock that is behind one', async () => {
      await withActivity(Date.now() + 3_600_000, async () => {
        assertOnly(await findingsOf(app()), 'clock', 'problem', /behind the newest activity/, /NTP/)
      })
    })

    it('reports one that waits too long for its seal', async () => {
      await withActivity(Date.now() - 3_600_000, async () => {
        assertOnly(
          await findingsOf(app()),
          'audit chain',
          'warning',
          /organizations? wait for their seal, the oldest since /,
          /^start Penstock/,
        )
      })
      await withActivity(Date.now() - 5_000, async () => assert.deepEqual(trouble(await findingsOf(app())), []))
    })
  })

  describe('of services and pipes', () => {
    const setState = (state: string) => `UPDATE pipes SET state = '${state}' WHERE id = '${app().sample.pipeIds.kafka}'`

    it('reports an engine that is unreachable or refuses the credentials', async () => {
      const found = new RegExp(`^service "analytics" ${app().sample.serviceId}: `)
      const { password } = engine
      engine.password = 'another'
      assertOnly(
        await findingsOf(app()),
        'engines',
        'warning',
        /refused the user name or the password$/,
        /set endpoint/,
      )
      engine.password = password
      await engine.stop()
      try {
        const findings = await findingsOf(app())
        assertOnly(findings, 'engines', 'warning', found, /^start the engine, let this machine reach it/)
        assert.match(trouble(findings)[0]!.found, /nothing accepts connections at 127\.0\.0\.1:\d+$/)
        await withChange(setState('Running'), setState('Stopped'), async () => {
          const needed = trouble(await findingsOf(app())).find(({ check }) => check === 'engines')
          assert.equal(needed?.verdict, 'problem')
        })
      } finally {
        await engine.start()
      }
    })

    it('reports that no process runs the pipes', async () => {
      await withChange(setState('Running'), setState('Stopped'), async () => {
        const [verdict, found] =
          app().dialect === 'sqlite' ? ['warning', /waits$/] : ['problem', /waits while Penstock is at work$/]
        assertOnly(await findingsOf(app()), 'runners', verdict as Verdict, found as RegExp, /^start /)
        const now = new Date().toISOString()
        const runner = `INSERT INTO runners (id, started_at, seen_at) VALUES ('test', '${now}', '${now}')`
        await withChange(runner, `DELETE FROM runners WHERE id = 'test'`, async () => {
          assert.deepEqual(trouble(await findingsOf(app())), [])
        })
      })
    })

    it('reports failed pipes, without control characters in their names', async () => {
      const pipeId = app().sample.pipeIds.kafka
      const [{ name } = { name: '' }] = await app().query<{ name: string }>(
        `SELECT name FROM pipes WHERE id = '${pipeId}'`,
      )
      await withChange(
        `UPDATE pipes SET state = 'Failed', name = 'orders\u001b[2J' WHERE id = '${pipeId}'`,
        `UPDATE pipes SET state = 'Stopped', name = '${name}' WHERE id = '${pipeId}'`,
        async () => {
          const found = /1 Failed, 1 Paused, 2 Stopped; "orders\?\[2J" \S+ is Failed$/
          assertOnly(
            await findingsOf(app()),
            'pipes',
            'warning',
            found,
            /^read stateReason .*"penstock call getPipeMetrics"/,
          )
        },
      )
    })
  })

  describe('of the network', () => {
    it('reports the limits of the egress', async () => {
      const loopback = await findingsOf(app(), { allowLoopback: true })
      assertOnly(loopback, 'egress', 'warning', /programs on its own machine$/, /PENSTOCK_ALLOW_LOOPBACK=false/)
      const plaintext = await findingsOf(app(), { allowPlaintext: true })
      assertOnly(
        plaintext,
        'egress',
        'warning',
        /^engines and sources .* in the clear$/,
        /PENSTOCK_ALLOW_PLAINTEXT=false/,
      )
    })

    it('reports a listener without TLS', async () => {
      const open = await findingsOf(app(), { host: '0.0.0.0' })
      assertOnly(open, 'listening', 'problem', /^0\.0\.0\.0:0 can be reached .* without TLS/, /PENSTOCK_TLS_IN_FRONT/)
      const known = { host: '0.0.0.0', tlsInFront: true, trustedProxies: ['10.0.0.1'] }
      assert.deepEqual(trouble(await findingsOf(app(), known)), [])
    })
  })
})
