// R2 and R3: a power cut under load loses no acknowledged write. `npm run chaos` runs more.
import assert from 'node:assert/strict'
import { powerOfPostgres, powerOfPostgresControl } from '../../chaos/system/power-postgres.ts'
import { powerOfSqlite, powerOfSqliteControl } from '../../chaos/system/power-sqlite.ts'
import { testDrill } from '../harness/drill.ts'

for (const drill of [powerOfSqlite, powerOfSqliteControl, powerOfPostgres, powerOfPostgresControl]) {
  testDrill(drill, {
    check: ({ writes = 0 }) =>
      assert.ok(writes >= drill.ci * 16, `only ${writes} writes: the cuts met an idle process`),
  })
}
