// Migrates a database to the newest schema. Migrations are numbered files, applied in order, each in its own transaction.
// A lock prevents concurrent migrations. A schema newer than this version is refused.
import { readdirSync, readFileSync } from 'node:fs'
import { NotSetUpError, StartError } from '../lib/start-error.ts'
import type { Dialect } from './sql.ts'

export interface Migration {
  number: number
  name: string
  statements: Record<Dialect, MigrationStatement[]>
}

export interface MigrationStatement {
  text: string
  /** Makes the statement a check: rows in its result stop the migration with this message; `{rows}` stands for their first columns. */
  refusal?: string
}

export interface SchemaTarget {
  dialect: Dialect
  execute(text: string): Promise<void>
  rows(text: string): Promise<Record<string, unknown>[]>
}

export interface MigrationTarget extends SchemaTarget {
  locked(work: () => Promise<void>): Promise<void>
}

export class MigrationError extends Error {}

export const createMigrationsTable =
  'CREATE TABLE IF NOT EXISTS schema_migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at text NOT NULL)'
export const selectMigrations = 'SELECT number FROM schema_migrations ORDER BY number'

const maxNamedRows = 10

export function loadMigrations(): Migration[] {
  const folder = new URL('../../migrations/', import.meta.url)
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => parseMigration(file, readFileSync(new URL(file, folder), 'utf8')))
}

/** Text for one dialect only. */
const marked = { sqlite: /\/\* sqlite: (.*?) \*\//g, postgres: /\/\* postgres: (.*?) \*\//g }

/**
 * Statements end with a semicolon at the end of a line. A line `-- only sqlite` (or postgres) limits the next one to a dialect;
 * `/* sqlite: … *\/` inside a statement is text for that dialect only. Lines `-- refused: …` turn the next statement into
 * a check that stops the migration when it returns rows; they are the error message.
 */
export function parseMigration(file: string, text: string): Migration {
  const statements: Migration['statements'] = { sqlite: [], postgres: [] }
  for (const part of text.split(/;\s*$/m)) {
    const only = /^-- only (sqlite|postgres)$/m.exec(part)?.[1]
    const refusal = [...part.matchAll(/^-- refused: (.*)$/gm)].map(([, line]) => line).join(' ')
    const statement = part.replace(/^\s*--.*$/gm, '').trim()
    if (statement === '') continue
    for (const dialect of ['sqlite', 'postgres'] as const) {
      if (only && only !== dialect) continue
      statements[dialect].push({
        text: statement.replace(marked[dialect], '$1'),
        ...(refusal === '' ? {} : { refusal }),
      })
    }
  }
  return { number: Number(file.slice(0, 4)), name: file.replace(/\.sql$/, ''), statements }
}

export async function migrate(target: MigrationTarget, migrations = loadMigrations()): Promise<void> {
  await target.locked(async () => {
    await target.execute(createMigrationsTable)
    const applied = new Set((await target.rows(selectMigrations)).map(({ number }) => number as number))
    const newest = newestOf(migrations)
    const unknown = Math.max(0, ...applied)
    if (unknown > newest) {
      throw new MigrationError(
        `The database is at schema ${unknown}, made by a newer Penstock; this one knows schemas up to ${newest}. Start the newer version.`,
      )
    }
    for (const migration of migrations) {
      if (applied.has(migration.number)) continue
      await target.execute('BEGIN')
      try {
        await applyMigration(target, migration)
        await target.execute('COMMIT')
      } catch (error) {
        await target.execute('ROLLBACK').catch(() => undefined)
        throw error
      }
    }
  })
}

/** Runs in the current transaction. */
export async function applyMigration(target: SchemaTarget, migration: Migration): Promise<void> {
  for (const statement of migration.statements[target.dialect]) await executeStatement(target, statement)
  await target.execute(
    `INSERT INTO schema_migrations (number, name, applied_at) VALUES (${migration.number}, '${migration.name}', '${new Date().toISOString()}')`,
  )
}

async function executeStatement(target: SchemaTarget, { text, refusal }: MigrationStatement): Promise<void> {
  if (refusal === undefined) return target.execute(text)
  const found = (await target.rows(text)).map((row) => String(Object.values(row)[0]))
  if (found.length === 0) return
  const named = found.slice(0, maxNamedRows).join(', ')
  const more = found.length > maxNamedRows ? ` and ${found.length - maxNamedRows} more` : ''
  throw new MigrationError(refusal.replace('{rows}', () => `${named}${more}`))
}

/** The tables that these migrations create, each after the tables it references. */
export function tablesOf(migrations: Migration[], dialect: Dialect): string[] {
  const tables = new Set<string>()
  for (const { text } of migrations.flatMap(({ statements }) => statements[dialect])) {
    const [, verb, table] = /^(CREATE|DROP) TABLE (?:IF (?:NOT )?EXISTS )?(\w+)/.exec(text) ?? []
    if (verb === 'CREATE') tables.add(table!)
    else if (verb === 'DROP') tables.delete(table!)
  }
  return [...tables]
}

export function newestOf(migrations: Migration[]): number {
  return Math.max(0, ...migrations.map(({ number }) => number))
}

/** For read-only access: the error when this version cannot read a database with these migrations. */
export function schemaMismatch(applied: number[]): StartError | undefined {
  const schema = Math.max(0, ...applied)
  const newest = newestOf(loadMigrations())
  if (schema === newest) return undefined
  if (schema === 0) return new NotSetUpError()
  return new StartError(
    schema < newest
      ? `The database is at schema ${schema}, and this version needs ${newest}. Start this version once, which brings it up to date, or use the version that it is used with.`
      : `The database is at schema ${schema}, made by a newer Penstock; this one knows schemas up to ${newest}. Use the newer version.`,
  )
}
