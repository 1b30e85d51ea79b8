// What all parts of the suite of PostgreSQL share: the server, and how a probe of it fails.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FailureCode, ProbeFailure, ProbeStep } from '../../src/sources/source.ts'
import { probeFails } from './conformance.ts'
import { emptyServer, fillServer, type PostgresServer, type SourceChange, secrets, sourceOf } from './postgres-world.ts'

export class PostgresSuite {
  #server: PostgresServer | undefined

  get server(): PostgresServer {
    assert.ok(this.#server, 'the server has not started')
    return this.#server
  }

  async start(start: () => Promise<PostgresServer>): Promise<void> {
    this.#server = await start()
    await fillServer(this.#server)
    const hba = join(this.#server.dataDirectory, 'pg_hba.conf')
    await writeFile(hba, `host all hushed_rejected all reject\n${await readFile(hba, 'utf8')}`)
    await this.reload()
  }

  async stop(): Promise<void> {
    if (!this.#server) return
    try {
      await emptyServer(this.#server)
    } finally {
      await this.#server.stop()
    }
  }

  /** New connections see the new files afterwards. */
  async reload(): Promise<void> {
    const loadedAt = async () => (await this.server.query('SELECT pg_conf_load_time()::text AS time'))[0]!.time
    const earlier = await loadedAt()
    await this.server.query('SELECT pg_reload_conf()')
    while ((await loadedAt()) === earlier) await sleep(10)
  }

  /** Of the source with this change; the words are looked for in the reason and the remedy. */
  async fails(
    change: SourceChange,
    step: ProbeStep,
    code: FailureCode,
    field?: string,
    words: RegExp = /./,
  ): Promise<ProbeFailure> {
    const expected = { step, code, ...(field === undefined ? {} : { field }) }
    const failure = await probeFails(sourceOf(this.server, change), expected, { secrets })
    assert.match(`${failure.reason}; ${failure.remedy}`, words)
    return failure
  }

  async openSessions(): Promise<number> {
    const sessions = await this.server.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'penstock'`)
    return sessions.length
  }
}
