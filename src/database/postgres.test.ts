import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTestApp, type TestApp } from '../../test/harness.ts'
import type { Database, WriteContext } from './database.ts'
import { openPostgres } from './postgres.ts'
import { statement } from './sql.ts'

const insert = statement<{ part: string }>('INSERT INTO halves (part) VALUES (:part)')
const backend = statement<Record<string, never>, { pid: number }>('SELECT pg_backend_pid() AS pid')

describe('a PostgreSQL connection that is lost in the middle of a write', () => {
  let app: TestApp
  let losses = 1
  const writes = {
    twoHalves: async ({ sql }: WriteContext, _: Record<string, never>) => {
      await sql.run(insert, { part: 'first' })
      const { pid } = (await sql.first(backend, {}))!
      if (losses-- > 0) {
        await app.query(`SELECT pg_terminate_backend(${pid})`)
        // Until this process has heard of it.
        await sleep(200)
      }
      await sql.run(insert, { part: 'second' })
      return 'both'
    },
  }
  let database: Database<typeof writes>
  before(async () => {
    app = await openTestApp('postgres')
    await app.query('CREATE TABLE halves (part text NOT NULL)')
    const events = { onFatal: () => undefined, onTrouble: () => undefined }
    database = await openPostgres({ url: app.config.databaseUrl!, writes, vault: app.app.vault, events })
  })
  after(async () => {
    await database?.close()
    await app?.close()
  })

  it('leaves no half of it behind, and the write is run again', async () => {
    const outcome = await database.write('twoHalves', {}, 'lane').catch(() => 'refused')
    const parts = await app.query<{ part: string }>('SELECT part FROM halves ORDER BY part')
    assert.deepEqual(
      parts.map(({ part }) => part),
      ['first', 'second'],
    )
    assert.equal(outcome, 'both')
  })
})
