// Brings a database to the newest schema. Migrations are numbered files, applied in order, each in a transaction of its own
// and under a lock, so that two processes that start at once do not meet. A database newer than this program is refused.
import { readdirSync, readFileSync } from 'node:fs'
import type { Dialect } from './sql.ts'

export interface Migration {
  number: number
  name: string
  statements: Record<Dialect, string[]>
}

/** What a database must offer to be migrated. */
export interface MigrationTarget {
  dialect: Dialect
  execute(text: string): Promise<void>
  appliedNumbers(): Promise<number[]>
  locked(work: () => Promise<void>): Promise<void>
}

export class MigrationError extends Error {}

export const createMigrationsTable =
  'CREATE TABLE IF NOT EXISTS schema_migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at text NOT NULL)'
export const selectMigrations = 'SELECT number FROM schema_migrations ORDER BY number'

export function loadMigrations(): Migration[] {
  const folder = new URL('../../migrations/', import.meta.url)
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => parseMigration(file, readFileSync(new URL(file, folder), 'utf8')))
}

/**
 * Statements end with a semicolon at the end of a line. A line `-- only sqlite` (or postgres) limits the next one;
 * `/* sqlite: … *\/` inside a statement is text for that database alone.
 */
export function parseMigration(file: string, text: string): Migration {
  const statements: Record<Dialect, string[]> = { sqlite: [], postgres: [] }
  for (const part of text.split(/;\s*$/m)) {
    const only = /^-- only (sqlite|postgres)$/m.exec(part)?.[1]
    const statement = part.replace(/^\s*--.*$/gm, '').trim()
    if (statement === '') continue
    for (const dialect of ['sqlite', 'postgres'] as const) {
      if (only && only !== dialect) continue
      const marked = new RegExp(`/\\* ${dialect}: (.*?) \\*/`, 'g')
      statements[dialect].push(statement.replace(marked, '$1'))
    }
  }
  return { number: Number(file.slice(0, 4)), name: file.replace(/\.sql$/, ''), statements }
}

export async function migrate(target: MigrationTarget, migrations = loadMigrations()): Promise<void> {
  await target.locked(async () => {
    await target.execute(createMigrationsTable)
    const applied = new Set(await target.appliedNumbers())
    const newest = Math.max(0, ...migrations.map((migration) => migration.number))
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
        for (const statement of migration.statements[target.dialect]) await target.execute(statement)
        await target.execute(
          `INSERT INTO schema_migrations (number, name, applied_at) VALUES (${migration.number}, '${migration.name}', '${new Date().toISOString()}')`,
        )
        await target.execute('COMMIT')
      } catch (error) {
        await target.execute('ROLLBACK').catch(() => undefined)
        throw error
      }
    }
  })
}
