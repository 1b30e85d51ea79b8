// As a person meets it, on the data of a Penstock that runs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/penstock', import.meta.url))

onBothDatabases('penstock audit verify', (app) => {
  function verify(
    args: string[] = [],
    settings: Record<string, string> = {},
  ): Promise<{ code: number; printed: string; error: string }> {
    const { dataFolder, databaseUrl } = app().config
    const env = {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: compileCache,
      PENSTOCK_DATA: dataFolder,
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
      ...settings,
    }
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [program, 'audit', 'verify', ...args],
        { env, timeout: 60_000 },
        (err, stdout, stderr) => resolve({ code: err ? Number(err.code ?? -1) : 0, printed: stdout, error: stderr }),
      )
    })
  }

  /** A new organization with three sealed activities. */
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    for (const name of ['One', 'Two', 'Three']) {
      await app().request('PATCH', `/v1/organizations/${organizationId}`, { key: admin, body: { name } })
    }
    await app().app.database.write('sealActivities', { organizationId }, organizationId)
    const rows = await app().query<{ id: string }>(
      `SELECT id FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
    )
    return { organizationId, ids: rows.map(({ id }) => id) }
  }

  it('reports success, for all organizations or for one', async () => {
    const { organizationId } = await setUp()
    const { code, printed, error } = await verify()
    assert.equal(error, '')
    assert.equal(code, 0)
    const line = new RegExp(
      `^organization ${organizationId}: 3 activities in \\d seals?, 0 waiting for the next seal$`,
      'm',
    )
    assert.match(printed, line)
    assert.match(printed, new RegExp(`^organization ${app().sample.organizationId}: 0 activities in 0 seals, `, 'm'))
    assert.match(printed, /^All activities are as they were sealed\.$/m)

    const one = await verify(['--organization-id', organizationId.toUpperCase()])
    assert.equal(one.code, 0)
    assert.match(one.printed, line)
    assert.equal(one.printed.match(/^organization /gm)!.length, 1)
  })

  it('prints the first bad row of each organization, with exit code 1', async () => {
    const one = await setUp()
    const other = await setUp()
    await app().query(`DELETE FROM activities WHERE id = '${one.ids[1]}'`)
    await app().query(`UPDATE activities SET address = '203.0.113.9' WHERE id = '${other.ids[0]}'`)
    const { code, printed, error } = await verify()
    assert.equal(code, 1)
    assert.match(
      error,
      new RegExp(`^BAD: activity ${one.ids[1]} of organization ${one.organizationId} is missing `, 'm'),
    )
    assert.match(
      error,
      new RegExp(`^BAD: activity ${other.ids[0]} of organization ${other.organizationId} was changed `, 'm'),
    )
    assert.equal(error.trim().split('\n').length, 2)
    assert.doesNotMatch(printed, /All activities/)
    const unharmed = await verify(['--organization-id', app().sample.organizationId])
    assert.equal(unharmed.code, 0)
    const harmed = await verify(['--organization-id', one.organizationId])
    assert.equal(harmed.code, 1)
  })

  it('knows an organization that has seals but no row', async () => {
    const { organizationId } = await setUp()
    const gone = newId()
    await app().query(
      `INSERT INTO activity_seals SELECT '${gone}', number, last_activity_id, digests, hash, sealed_at
       FROM activity_seals WHERE organization_id = '${organizationId}'`,
    )
    const { code, error } = await verify(['--organization-id', gone])
    assert.equal(code, 1)
    assert.match(error, /^BAD: /)
  })

  it('refuses invalid options in one sentence', async () => {
    const missing = newId()
    const elsewhere = mkdtempSync(join(tmpdir(), 'penstock-audit-'))
    try {
      const cases: [string[], Record<string, string>, RegExp][] = [
        [['--organization-id', 'northwind'], {}, /^--organization-id must be a uuid, not "northwind"\.$/],
        [['--organization-id', missing], {}, new RegExp(`^There is no organization ${missing} here`)],
        [
          [],
          { PENSTOCK_MASTER_KEY_FILE: join(elsewhere, 'none.json') },
          /^The master key file .* is missing, and the database has secrets sealed with it\./,
        ],
        ...(app().dialect === 'sqlite'
          ? ([
              [
                [],
                { PENSTOCK_DATA: elsewhere },
                /^There is no database at .*penstock\.db\. .* Run "penstock init", or correct PENSTOCK_DATA/,
              ],
            ] as [string[], Record<string, string>, RegExp][])
          : []),
      ]
      for (const [args, settings, sentence] of cases) {
        const { code, error } = await verify(args, settings)
        assert.equal(code, 1, error)
        assert.match(error.trim(), sentence)
        assert.equal(error.trim().split('\n').length, 1, error)
      }
    } finally {
      rmSync(elsewhere, { recursive: true, force: true })
    }
  })
})
