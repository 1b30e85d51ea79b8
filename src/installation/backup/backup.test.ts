import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { pipeTools } from '../../../test/harness/pipes.ts'
import { onBothDatabases } from '../../../test/harness/test-app.ts'
import { ask, auditOf, emptyData, everything, openQuietApp } from '../../../test/harness/whole-data.ts'
import type { Config } from '../../config.ts'
import { loadMigrations, newestOf, tablesOf } from '../../database/migrate.ts'
import type { Dialect, SqlValue } from '../../database/sql.ts'
import { newId } from '../../lib/id.ts'
import { newMasterKeys, Vault } from '../../lib/vault.ts'
import { openSecrets } from '../../pipes/store.ts'
import { loadMasterKeys, writeMasterKeys } from '../master-keys.ts'
import { writeLines } from './backup-file.ts'
import { makeBackup } from './make-backup.ts'
import { formatVersion, type Manifest, sealOfManifest, tablesLeftOut } from './manifest.ts'
import { checkBackup, restoreBackup } from './restore-backup.ts'

onBothDatabases('a backup', (app) => {
  let folder: string
  let backupFile: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-backup-'))
    const { organizationId, serviceId, adminUserId, pipeIds } = app().sample
    for (const name of ['One', 'Zwei 🚰 \u2028', 'Three "\\']) {
      const headers = { 'idempotency-key': newId() }
      await app().request('PATCH', `/v1/organizations/${organizationId}`, { body: { name }, headers })
    }
    await app().request('PATCH', pipeTools(app, 'kafka').path(pipeIds.kafka), {
      body: { source: { kafka: { credentials: { username: 'u', password: 'c4n4ry-password' } } } },
    })
    await app().query(`UPDATE pipes SET state = 'Running', epoch = 7 WHERE id = '${pipeIds.kafka}'`)
    await app().query(`UPDATE pipes SET state = 'Snapshot', epoch = 3 WHERE id = '${pipeIds.postgres}'`)
    await app().query(`UPDATE pipes SET state = 'Completed' WHERE id = '${pipeIds.objectStorage}'`)
    await app().query(
      `INSERT INTO pipe_positions (pipe_id, partition, position, offset_bytes, epoch)
       VALUES ('${pipeIds.kafka}', 'orders/0', '17', 9007199254740991, 7)`,
    )
    await app().query(
      `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at)
       VALUES ('${pipeIds.kafka}', 0, 1, 'r', 7, '2999-01-01T00:00:00.000Z')`,
    )
    await app().addSession(adminUserId)
    await app().app.database.write('sealActivities', { organizationId }, organizationId)
    assert.ok(serviceId)
    backupFile = (await makeBackup(app().config, folder)).file
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('is one private file, in a folder named by its time, without leftovers', () => {
    assert.deepEqual(readdirSync(folder), [backupFile.slice(folder.length + 1)])
    assert.match(backupFile, /\/penstock-\d{4}-\d\d-\d\dT[\d-]+Z\.backup\.gz$/)
    assert.equal(statSync(backupFile).mode & 0o777, 0o600)
  })

  it('contains no master key, pepper, plain secret, session or lease', () => {
    const { keys, pepper } = loadMasterKeys(app().config.masterKeyFile)
    const text = gunzipSync(readFileSync(backupFile)).toString()
    const secrets = [pepper, ...Object.values(keys)]
    for (const secret of secrets) {
      const bytes = Buffer.from(secret, 'base64')
      for (const form of [secret, bytes.toString('hex'), bytes.toString('base64url')]) assert.ok(!text.includes(form))
    }
    for (const secret of ['c4n4ry-password', app().admin.secret, app().developer.secret])
      assert.ok(!text.includes(secret))
    for (const table of tablesLeftOut) assert.ok(!text.includes(`"table":"${table}"`), table)
    assert.match(text, /"table":"pipe_positions"/)
  })

  it('lists its content and the keys it needs', async () => {
    const manifest = await checkBackup(backupFile, app().config)
    assert.equal(manifest.database, app().dialect)
    assert.equal(manifest.schema, newestOf(loadMigrations()))
    assert.deepEqual(
      manifest.masterKeys.map(({ id }) => id),
      ['k1'],
    )
    assert.equal(manifest.parts.find(({ table }) => table === 'pipes')!.rows, 4)
  })

  for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
    it(`restores all data on ${dialect}, with stopped pipes`, async () => {
      const place = await emptyData(app().config, join(folder, dialect), dialect)
      await restoreBackup(place, backupFile, await checkBackup(backupFile, place))
      const expected = await everything(app().config)
      const restored = await everything(place)
      assert.deepEqual([...restored.keys()], [...expected.keys()])
      for (const [table, rows] of restored) {
        if (tablesLeftOut.includes(table)) assert.deepEqual(rows, [], table)
        else if (table !== 'pipes') assert.deepEqual(rows, expected.get(table), table)
      }
      const before = new Map(expected.get('pipes')!.map((row) => [row.id, row]))
      for (const { state, state_reason: reason, reload_requested_at: reload, epoch, ...row } of restored.get(
        'pipes',
      )!) {
        const { epoch: epochBefore, ...others } = before.get(row.id)!
        const { state: _state, state_reason: _reason, reload_requested_at: _reload, ...same } = others
        assert.deepEqual(row, same)
        // The replication slot at its source has moved on.
        assert.equal(reload !== null, row.kind === 'postgres')
        assert.match(String(reason), /^Penstock was restored from a backup of \d{4}-/)
        assert.ok(epochBefore === 0 ? epoch === 0 : Number(epoch) > 1_000_000)
        const byKind: Record<string, string> = { postgres: 'Paused', objectStorage: 'Completed' }
        assert.equal(state, byKind[String(row.kind)] ?? 'Stopped')
      }
      assert.deepEqual(await auditOf(place), await auditOf(app().config))
      assert.ok((await auditOf(place)).sealed >= 4)
    })

    it(`works again after a restore from ${dialect}: API keys authenticate, secrets can be opened`, async () => {
      const place = { ...(await placeFor(dialect)) }
      await restoreBackup(place, backupFile, await checkBackup(backupFile, place))
      const restored = await openQuietApp(place)
      try {
        const { organizationId, serviceId, pipeIds } = app().sample
        const organization = await ask(restored, app().admin, `/v1/organizations/${organizationId}`)
        assert.equal(organization.status, 200)
        assert.match(organization.text, /Three \\"\\\\/)
        const path = `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds.kafka}`
        assert.match((await ask(restored, app().developer, path)).text, /"state":"Stopped"/)
        const stored = await pipeTools(app, 'kafka').load(pipeIds.kafka)
        assert.match(JSON.stringify(openSecrets(restored.vault, stored)), /c4n4ry-password/)
      } finally {
        await restored.close()
      }
    })
  }

  const placeFor = (dialect: Dialect): Promise<Config> => emptyData(app().config, join(folder, newId()), dialect)

  it('is refused by a database with data', async () => {
    const place = await placeFor(app().dialect)
    const manifest = await checkBackup(backupFile, place)
    await restoreBackup(place, backupFile, manifest)
    const whole = await everything(place)
    await assert.rejects(restoreBackup(place, backupFile, manifest), {
      message: 'There is a Penstock with data here already. A backup is restored only into an empty one.',
    })
    assert.deepEqual(await everything(place), whole)
  })

  it('is restored over empty tables', async () => {
    const place = await placeFor(app().dialect)
    await (await openQuietApp(place)).close()
    const { rows } = await restoreBackup(place, backupFile, await checkBackup(backupFile, place))
    assert.ok(rows > 10)
  })

  it('is refused without the right keys, and names them', async () => {
    const place = await placeFor('sqlite')
    const keys = loadMasterKeys(place.masterKeyFile)
    const others = newMasterKeys()
    const cases: [object, RegExp][] = [
      [
        { ...keys, current: 'k2', keys: { k2: keys.keys.k1 } },
        /needs the master key k1, which is not in .*master-keys\.json\./,
      ],
      [{ ...keys, keys: others.keys }, /^The master key k1 in .* is not the one that the backup .* was made with\./],
      [{ ...keys, pepper: others.pepper }, /^The pepper in .* is not the one /],
    ]
    for (const [present, sentence] of cases) {
      writeMasterKeys(place.masterKeyFile, present as typeof keys, 'replace')
      await assert.rejects(checkBackup(backupFile, place), { name: 'StartError', message: sentence })
    }
    rmSync(place.masterKeyFile)
    await assert.rejects(checkBackup(backupFile, place), {
      name: 'StartError',
      message: /^The master key file .* is missing\./,
    })
  })

  it('does not replace a file', async () => {
    const text = readFileSync(backupFile)
    await assert.rejects(makeBackup(app().config, backupFile), { message: /exists already\. Name a new file/ })
    await assert.rejects(makeBackup(app().config, join(folder, 'none', 'x.gz')), { message: /does not exist\.$/ })
    assert.deepEqual(readFileSync(backupFile), text)
  })
})

describe('the file of a backup', () => {
  let folder: string
  let place: Config
  let backupFile: string
  const now = '2026-01-02T03:04:05.678Z'
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-backup-'))
    backupFile = join(folder, 'backup.gz')
    const masterKeyFile = join(folder, 'master-keys.json')
    writeMasterKeys(masterKeyFile, newMasterKeys())
    place = { dataFolder: folder, masterKeyFile, databaseUrl: undefined } as Config
    await write(backupFile, goodTables)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  type Tables = [string, string[], SqlValue[][]][]
  const goodTables: Tables = [
    ['installation', ['id', 'key_check', 'created_at'], [[1, 'k1.x', now]]],
    ['organizations', ['id', 'name', 'created_at', 'version'], [['o1', 'Acme', now, 1]]],
    ['users', ['id', 'name', 'email', 'created_at', 'version'], [['u1', 'Ada', 'Ada@acme.example', now, 1]]],
    ['members', ['organization_id', 'user_id', 'role', 'joined_at', 'version'], [['o1', 'u1', 'admin', now, 1]]],
  ]

  /** By default as a Penstock with schema 1 would have written it. */
  async function write(
    file: string,
    tables: Tables,
    more: Partial<Manifest> & { format?: number } = {},
  ): Promise<void> {
    const { createHash } = await import('node:crypto')
    const vault = new Vault(loadMasterKeys(place.masterKeyFile))
    const { format = formatVersion, ...changed } = more
    const linesOf = (rows: SqlValue[][]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    const manifest: Manifest = {
      formatVersion: format,
      schema: 1,
      createdAt: now,
      database: 'postgres',
      parts: tables.map(([table, columns, rows]) => ({
        table,
        columns,
        rows: rows.length,
        sha256: createHash('sha256').update(linesOf(rows)).digest('hex'),
      })),
      masterKeys: [{ id: 'k1', check: vault.checkOfKey('k1')! }],
      ...changed,
    }
    async function* lines() {
      yield `${JSON.stringify({ penstockBackup: format })}\n`
      for (const [table, columns, rows] of tables) yield `${JSON.stringify({ table, columns })}\n${linesOf(rows)}`
      yield `${JSON.stringify({ manifest, seal: sealOfManifest(vault, manifest) })}\n`
    }
    rmSync(file, { force: true })
    await writeLines(file, lines())
  }

  it('is refused with any byte changed, removed or added', async () => {
    const whole = readFileSync(backupFile)
    const damaged = join(folder, 'damaged.gz')
    const refuses = async (bytes: Buffer, what: string): Promise<void> => {
      writeFileSync(damaged, bytes)
      await assert.rejects(
        checkBackup(damaged, place),
        { name: 'StartError', message: /is damaged, or is not a backup/ },
        what,
      )
    }
    for (let at = 0; at < whole.length; at++) {
      const bytes = Buffer.from(whole)
      bytes[at]! ^= 1 << (at % 8)
      await refuses(bytes, `byte ${at}`)
    }
    for (const length of [0, 1, 85, 86, whole.length - 86, whole.length - 1]) {
      await refuses(whole.subarray(0, length), `the first ${length} bytes`)
    }
    await refuses(Buffer.concat([whole, Buffer.from([0])]), 'one more byte')
  })

  it('is refused when it cannot be read', async () => {
    const missing = join(folder, 'none.gz')
    await assert.rejects(checkBackup(missing, place), {
      name: 'StartError',
      message: /none\.gz cannot be read \(ENOENT\)/,
    })
    await assert.rejects(checkBackup(folder, place), { name: 'StartError' })
  })

  it('is refused when its checksum is right but its content does not match the manifest', async () => {
    const other = join(folder, 'other.gz')
    const manifest = await checkBackup(backupFile, place)
    const [first, ...others] = manifest.parts
    for (const parts of [others, [{ ...first!, rows: 2 }, ...others], [{ ...first!, sha256: '0' }, ...others]]) {
      await write(other, goodTables, { parts })
      await assert.rejects(checkBackup(other, place), { message: /is damaged, or is not a backup/ })
    }
  })

  it('is refused when it was changed without the pepper', async () => {
    const forged = join(folder, 'forged.gz')
    const keys = loadMasterKeys(place.masterKeyFile)
    const { pepper } = newMasterKeys()
    writeMasterKeys(place.masterKeyFile, { ...keys, pepper }, 'replace')
    await write(forged, goodTables)
    writeMasterKeys(place.masterKeyFile, keys, 'replace')
    await assert.rejects(checkBackup(forged, place), { message: /or somebody has changed the backup/ })
  })

  it('is refused when a newer version wrote it', async () => {
    const newer = join(folder, 'newer.gz')
    await write(newer, goodTables, { schema: 999 })
    await assert.rejects(checkBackup(newer, place), { message: /made by a newer Penstock \(schema 999; / })
    await write(newer, goodTables, { format: 2 })
    await assert.rejects(checkBackup(newer, place), { message: /made by a newer Penstock, in a format / })
  })

  for (const dialect of ['sqlite', 'postgres'] satisfies Dialect[]) {
    it(`of an older version is migrated on ${dialect}, whatever empty tables exist`, async () => {
      for (const isStarted of [false, true]) {
        const empty = await emptyData(await fullConfig(), join(folder, newId()), dialect)
        if (isStarted) await (await openQuietApp(empty)).close()
        await restoreBackup(empty, backupFile, await checkBackup(backupFile, empty))
        const restored = await everything(empty)
        assert.equal(restored.get('organizations')![0]!.admin_count, 1)
        assert.equal(restored.get('users')![0]!.email, 'ada@acme.example')
      }
    })

    it(`that fails leaves ${dialect} empty, and the next one is restored`, async () => {
      const empty = await emptyData(await fullConfig(), join(folder, newId()), dialect)
      const bad = join(folder, 'bad.gz')
      const [installation, , ...others] = goodTables
      await write(bad, [installation!, ...others])
      await assert.rejects(restoreBackup(empty, bad, await checkBackup(bad, empty)), /foreign key/i)
      await write(bad, [...goodTables, ['sqlite_sequence', ['name'], [['x']]]])
      await assert.rejects(restoreBackup(empty, bad, await checkBackup(bad, empty)), { message: /is damaged/ })
      const { rows } = await restoreBackup(empty, backupFile, await checkBackup(backupFile, empty))
      assert.equal(rows, 4)
    })
  }

  async function fullConfig(): Promise<Config> {
    const { readConfig } = await import('../../config.ts')
    return { ...readConfig({}, { logLevel: 'silent' }), ...place, serviceChecks: false }
  }
})

onBothDatabases('the tables of the migrations', (app) => {
  it('are all that the database has', async () => {
    const names = await app().query<{ name: string }>(
      app().dialect === 'sqlite'
        ? `SELECT name FROM sqlite_master WHERE type = 'table'`
        : `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`,
    )
    const known = [...tablesOf(loadMigrations(), app().dialect), 'schema_migrations']
    assert.deepEqual(names.map(({ name }) => name).sort(), known.sort())
  })
})
