import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import {
  loadMigrations,
  MigrationError,
  type MigrationTarget,
  migrate,
  parseMigration,
  selectMigrations,
} from './migrate.ts'

function inMemory(): { database: DatabaseSync; target: MigrationTarget } {
  const database = new DatabaseSync(':memory:')
  const target: MigrationTarget = {
    dialect: 'sqlite',
    execute: async (text) => database.exec(text),
    rows: async (text) => database.prepare(text).all(),
    locked: (work) => work(),
  }
  return { database, target }
}

describe('parseMigration', () => {
  it('splits statements and limits one to a dialect', () => {
    const text =
      '-- a comment\nCREATE TABLE a (\n  id text -- inside\n);\n\n-- only postgres\nCREATE INDEX b ON a (id);\n'
    const { number, name, statements } = parseMigration('0007-things.sql', text)
    assert.equal(number, 7)
    assert.equal(name, '0007-things')
    assert.equal(statements.sqlite.length, 1)
    assert.equal(statements.postgres.length, 2)
  })

  it('reads the message of a check', () => {
    const text =
      '-- refused: There are {rows},\n-- refused: too many.\nSELECT id FROM a;\n\nCREATE TABLE b (id text);\n'
    const { statements } = parseMigration('0007-things.sql', text)
    assert.deepEqual(statements.postgres, [
      { text: 'SELECT id FROM a', refusal: 'There are {rows}, too many.' },
      { text: 'CREATE TABLE b (id text)' },
    ])
  })

  it('numbers run from 1 without a gap', () => {
    assert.deepEqual(
      loadMigrations().map(({ number }) => number),
      loadMigrations().map((_, index) => index + 1),
    )
  })
})

describe('migrate', () => {
  it('applies each migration once', async () => {
    const { database, target } = inMemory()
    await migrate(target)
    await migrate(target)
    assert.equal(
      database.prepare('SELECT count(*) AS count FROM schema_migrations').get()!.count,
      loadMigrations().length,
    )
  })

  it('rolls back a failed migration', async () => {
    const { database, target } = inMemory()
    const broken = parseMigration('0001-broken.sql', 'CREATE TABLE a (id text);\nCREATE TABLE a (id text);\n')
    await assert.rejects(migrate(target, [broken]))
    assert.equal(database.prepare("SELECT count(*) AS count FROM sqlite_master WHERE name = 'a'").get()!.count, 0)
    assert.deepEqual(await target.rows(selectMigrations), [])
  })

  it('names the rows that stop a migration, and rolls it back', async () => {
    const { database, target } = inMemory()
    database.exec('CREATE TABLE a (id text)')
    const text = 'CREATE TABLE b (id text);\n-- refused: There is {rows}. Remove it.\nSELECT id FROM a ORDER BY id;\n'
    const migration = parseMigration('0001-picky.sql', text)
    const refused = (sentence: string) =>
      assert.rejects(
        migrate(target, [migration]),
        (error) => error instanceof MigrationError && error.message === sentence,
      )
    database.exec("INSERT INTO a VALUES ('$&'), ('x')")
    await refused('There is $&, x. Remove it.')
    for (let number = 10; number < 20; number++) database.exec(`INSERT INTO a VALUES ('1${number}')`)
    await refused('There is $&, 110, 111, 112, 113, 114, 115, 116, 117, 118 and 2 more. Remove it.')
    assert.equal(database.prepare("SELECT count(*) AS count FROM sqlite_master WHERE name = 'b'").get()!.count, 0)
    database.exec('DELETE FROM a')
    await migrate(target, [migration])
    assert.equal((await target.rows(selectMigrations)).length, 1)
  })

  it('refuses a database of a newer version', async () => {
    const { database, target } = inMemory()
    await migrate(target)
    database.exec("INSERT INTO schema_migrations VALUES (999, '0999-future', '2030-01-01T00:00:00.000Z')")
    await assert.rejects(
      migrate(target),
      (error) => error instanceof MigrationError && /newer Penstock/.test(error.message),
    )
  })
})

onBothDatabases('migrations', (app) => {
  it('have all been applied', async () => {
    const rows = await app().query<{ number: number }>(selectMigrations)
    assert.deepEqual(
      rows.map((row) => row.number),
      loadMigrations().map((migration) => migration.number),
    )
  })
})
