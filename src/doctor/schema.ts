import { loadMigrations, newestOf } from '../database/migrate.ts'
import { type Finding, problem, toFinding } from './finding.ts'

/** Compares the applied migrations with those of this version. */
export function checkSchema(applied: number[]): Finding {
  const schema = Math.max(0, ...applied)
  const newest = newestOf(loadMigrations())
  if (schema === newest) return toFinding('schema', `${schema}, which is this version's`, [])
  const issue =
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
  return toFinding('schema', '', [issue])
}
