import { type Sql, statement } from '../database/sql.ts'

const findStatement = statement<Record<string, never>, { key_check: string }>(
  'SELECT key_check FROM installation WHERE id = 1',
)
const insertStatement = statement<{ keyCheck: string; now: string }>(
  'INSERT INTO installation (id, key_check, created_at) VALUES (1, :keyCheck, :now) ON CONFLICT DO NOTHING',
)

export async function findKeyCheck(sql: Sql): Promise<string | undefined> {
  return (await sql.first(findStatement, {}))?.key_check
}

export async function insertKeyCheck(sql: Sql, keyCheck: string, now: string): Promise<boolean> {
  return (await sql.run(insertStatement, { keyCheck, now })) > 0
}
