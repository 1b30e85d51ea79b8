import { loadMigrations, newestOf } from '../database/migrate.ts'
import { type Finding, judge, problem } from './finding.ts'

/** Whether the tables are those of this program, by the migrations that the database has. */
export function checkSchema(applied: number[]): Finding {
  const schema = Math.max(0, ...applied)
  const newest = newestOf(loadMigrations())
  if (schema === newest) return judge('schema', `${schema}, which is this version's`, [])
  const complaint =
    schema === 0
      ? problem(
          'the database has no tables of Penstock',
          'run "penstock init", or correct PENSTOCK_DATA or DATABASE_URL',
        )
      : schema < newest
        ? problem(
            `schema ${schema}, and this version needs ${newest}`,
            'start this version once, which brings it up to date, or use the version that it is used with',
          )
        : problem(
            `schema ${schema}, made by a newer Penstock; this one knows schemas up to ${newest}`,
            'use the newer version',
          )
  return judge('schema', '', [complaint])
}
