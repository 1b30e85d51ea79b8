// Shared setup of sink tests: both real engines, a proxy in front of each, tables, and batches.
import { after, before, describe } from 'node:test'
import type { EngineAccess } from '../../src/engine/check.ts'
import type { BadRow, EngineTable, Insert, Sink } from '../../src/engine/engine.ts'
import { openSink } from '../../src/engine/sink.ts'
import { Egress } from '../../src/lib/egress.ts'
import { Secret } from '../../src/lib/secret.ts'
import { defaultSettings } from '../../src/pipes/settings.ts'
import { startModernEngine } from './servers/chdb.ts'
import { startClickHouse } from './servers/clickhouse.ts'
import type { EngineServer } from './servers/engine.ts'
import { type HoldingProxy, startHoldingProxy } from './servers/holding-proxy.ts'

export const pipeId = '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
export const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
export const never = new AbortController().signal

export const columns = [
  { name: 'id', type: 'UInt64' },
  { name: 'day', type: 'Date' },
  { name: 'note', type: 'String' },
]
export const shape = {
  format: 'JSONEachRow' as const,
  fields: columns,
  columns: columns.map(({ name }) => ({ column: name, field: name })),
  settings: defaultSettings,
}

/** Rows of three months, each row twice. */
export function linesOf(count: number): Buffer {
  const lines = Array.from({ length: count }, (_, index) => {
    const id = Math.floor(index / 2)
    return `{"id":${id},"day":"2026-0${1 + (id % 3)}-01","note":"row ${id}"}\n`
  })
  return Buffer.from(lines.join(''))
}

export function insertOf(token: string, body: Buffer, more: Partial<Insert> = {}): Insert {
  return { token, ...shape, body: () => [body], isRepeat: false, ...more }
}

export function badRow(id: string, raw: string | Buffer, laterMs = 0): BadRow {
  return {
    id,
    partition: 'topic/0',
    position: `offset ${id}`,
    raw: typeof raw === 'string' ? Buffer.from(raw) : raw,
    meta: '{"key":"\\t"}',
    reason: 'Cannot parse\n\tthis',
    at: new Date(Date.now() - 3_600_000 + laterMs).toISOString(),
  }
}

export class SinkWorld {
  /** ClickHouse 18.16: without deduplication tokens and `input`. */
  readonly isOld: boolean
  engine!: EngineServer
  proxy!: HoldingProxy
  #tables = 0
  #epochs = 0

  constructor(isOld: boolean) {
    this.isOld = isOld
  }

  async start(): Promise<void> {
    this.engine = await (this.isOld ? startClickHouse : startModernEngine)()
    this.proxy = await startHoldingProxy(this.engine)
    await this.engine.query('CREATE DATABASE pipes')
  }

  async stop(): Promise<void> {
    await this.proxy?.close()
    await this.engine?.stop()
  }

  accessBy(port: number): EngineAccess {
    const { username, password } = this.engine.user
    return { protocol: 'http', host: '127.0.0.1', port, username, password: new Secret(password) }
  }

  newTable(more: Partial<EngineTable> = {}): EngineTable {
    this.#tables += 1
    return {
      database: 'pipes',
      table: `events_${this.#tables}`,
      columns,
      definition: { engine: { type: 'MergeTree' }, partitionBy: 'toYYYYMM(day)', sortingKey: ['id'] },
      ...more,
    }
  }

  /** A table whose batches are identified by marker columns, also in an engine with tokens. */
  async newMarkedTable(definition: string): Promise<EngineTable> {
    const { definition: _definition, ...table } = this.newTable()
    await this.engine.query(
      `CREATE TABLE pipes.${table.table} (id UInt64, day Date, note String, odd UInt8 DEFAULT id % 2, ` +
        `_penstock_batch String) ENGINE = MergeTree ${definition}`,
    )
    return table
  }

  /** Each call uses a later epoch. */
  open(table: EngineTable, port = this.engine.port): Promise<Sink> {
    this.#epochs += 1
    const place = { pipeId, workerIndex: 0, epoch: this.#epochs }
    return openSink(egress, this.accessBy(port), table, place, { signal: never })
  }

  async withSink(table: EngineTable, use: (sink: Sink) => Promise<unknown>, port?: number): Promise<void> {
    const sink = await this.open(table, port)
    try {
      await use(sink)
    } finally {
      await sink.close()
    }
  }

  async count({ table }: EngineTable): Promise<number> {
    return Number(await this.engine.query(`SELECT count() FROM pipes.\`${table}\``))
  }

  async countParts({ table }: EngineTable): Promise<number> {
    const where = `database = 'pipes' AND table = '${table}' AND active = 1`
    return Number(await this.engine.query(`SELECT count() FROM system.parts WHERE ${where}`))
  }

  async listTables(like: string): Promise<string[]> {
    const where = `database = 'pipes' AND name LIKE '${like}'`
    const answer = await this.engine.query(`SELECT name FROM system.tables WHERE ${where} ORDER BY name`)
    return answer.split('\n').filter((line) => line !== '')
  }
}

/** Runs the tests for each engine. */
export function describeOnEngines(what: string, tests: (world: SinkWorld) => void): void {
  for (const isOld of [true, false]) {
    describe(`${what} and ${isOld ? 'ClickHouse of Debian' : 'chDB'}`, () => {
      const world = new SinkWorld(isOld)
      before(() => world.start())
      after(() => world.stop())
      tests(world)
    })
  }
}
