// State that all parts of the PostgreSQL suite share: the server, and assertions about failures.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProbeStep } from '../../src/source-shapes/probe.ts'
import type { FailureCode, ProbeFailure } from '../../src/source-shapes/source-failure.ts'
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

  /** Reloads the configuration files for new connections. */
  async reload(): Promise<void> {
    const loadedAt = async () => (await this.server.query('SELECT pg_conf_load_time()::text AS time'))[0]!.time
    const earlier = await loadedAt()
    await this.server.query('SELECT pg_reload_conf()')
    while ((await loadedAt()) === earlier) await sleep(10)
  }

  /** Asserts that a probe with this change fails; `words` must match the reason and the remedy. */
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
