import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Secret } from '../lib/secret.ts'
import type { EngineClient } from './client.ts'
import { EngineError, type Insert } from './engine.ts'
import { insertMarked } from './marked-insert.ts'
import { listLeft } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'

const never = new AbortController().signal
const owner = { pipeId: '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', workerIndex: 0, epoch: 7 }
const table = { database: 'default', table: 'events' }
const besidePipe = 'events_penstock_0198a1b2c3d4'
const access = { protocol: 'http' as const, host: 'engine', port: 8123, username: 'u', password: new Secret('p') }

interface Answers {
  /** Results of consecutive queries of `system.processes`. */
  running?: number[]
  tables?: { name: string; made: number; asked: number }[]
}

function fakeClient({ running = [], tables = [] }: Answers): EngineClient & { sent: string[] } {
  const sent: string[] = []
  const answer = (text: string): object[] => {
    if (text.includes('system.processes')) return [{ found: running.shift() ?? 0 }]
    if (text.includes('system.tables')) return tables
    if (text.includes('AS staged')) return [{ staged: 3, witnesses: '1' }]
    return text.includes('AS fences') ? [{ fences: 0 }] : []
  }
  return {
    access,
    sent,
    async query(text, { signal } = {}) {
      if (signal?.aborted) throw new EngineError('passing', 'given up')
      sent.push(text)
      return answer(text)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('')
    },
    async send(text) {
      sent.push(text)
      return { writtenRows: undefined, sentBytes: 10 }
    },
    close: () => undefined,
  }
}

function partsOf(client: EngineClient): SinkParts {
  const capabilities = {
    version: [18, 16],
    hasSetting: () => false,
    hasFormat: () => true,
    canInput: false,
    hasTokens: false,
    defaultTokenWindow: undefined,
    hasTtl: false,
    canDropSync: true,
    canAddIfMissing: false,
    canRenameColumn: false,
  }
  const types = new Map([['id', 'UInt64']])
  return {
    client,
    capabilities,
    table,
    owner,
    types,
    partitionKey: '',
    areTokensFirst: false,
    tryOutTable: table,
    cannotListQueries: false,
    insertPaths: new Map(),
    drop: () => undefined,
  }
}

const repeat: Insert = {
  token: 'a',
  format: 'JSONEachRow',
  fields: [{ name: 'id', type: 'UInt64' }],
  columns: [{ column: 'id', field: 'id' }],
  body: () => [Buffer.from('{"id":1}\n{"id":2}\n')],
  isRepeat: true,
  settings: {
    engine_max_threads: 0,
    engine_max_insert_threads: 1,
    engine_max_download_threads: 4,
    engine_min_insert_block_size_bytes: 1_073_741_824,
    engine_parallel_distributed_insert_select: 2,
    engine_parallel_view_processing: false,
  },
}

describe('a batch that may still be running', () => {
  it('is not sent again before the engine has ended every statement of it, also when nothing is staged', async () => {
    const client = fakeClient({ running: [1, 2] })
    assert.deepEqual(await insertMarked(partsOf(client), repeat, never), { rows: 2, sentBytes: 10 })
    const lookups = client.sent.filter((text) => text.includes('system.processes'))
    const moved = client.sent.filter((text) => text.startsWith('INSERT INTO `default`.`events` '))
    assert.equal(lookups.length, 3)
    assert.equal(moved.length, 1)
    assert.ok(client.sent.indexOf(moved[0]!) > client.sent.lastIndexOf(lookups[0]!))
    const [, mark] = /concat\('batch ', '(\w+)'\)/.exec(lookups[0]!) ?? []
    assert.ok(mark !== undefined && moved[0]!.includes(`/* batch ${mark} */`))
    assert.ok(!lookups[0]!.includes(`batch ${mark}`), 'the query would find itself')
  })

  it('loses its staging tables before its statements are counted, so that no statement can begin afterwards', async () => {
    const name = `${besidePipe}_0_3_ca978112ca1bbdca_0123456789ab_rows`
    const client = fakeClient({ tables: [{ name, made: 100, asked: 101 }] })
    await insertMarked(partsOf(client), repeat, never)
    const dropped = client.sent.findIndex((text) => text.startsWith('DROP TABLE') && text.includes(name))
    assert.ok(dropped >= 0 && dropped < client.sent.findIndex((text) => text.includes('system.processes')))
  })

  it('is abandoned when the signal is aborted', async () => {
    const client = fakeClient({ running: Array.from({ length: 1000 }, () => 1) })
    const giveUp = new AbortController()
    const waiting = assert.rejects(insertMarked(partsOf(client), repeat, giveUp.signal), { kind: 'passing' })
    setTimeout(() => giveUp.abort(), 20)
    await waiting
    assert.ok(client.sent.every((text) => !text.includes('_rows')))
  })
})

describe('tables that sinks have left', () => {
  it('are staging tables of an earlier epoch of the worker index, and old ones of any', async () => {
    const [asked, recent, old] = [10_000, 9_000, 6_000]
    const names: [string, number][] = [
      ['0_6_x_y_rows', recent],
      ['0_7_x_y_rows', recent],
      ['0_7_x_y_rows', old],
      ['1_5_x_y_rows', recent],
      ['1_5_x_y_rows', old],
      ['1_5_x_y_typed', 0],
      ['1_6_check_z', recent],
      ['1_8_check_z', old],
    ]
    const tables = names.map(([name, made], index) => ({ name: `${besidePipe}_${name}${index}`, made, asked }))
    const left = await listLeft(fakeClient({ tables }), table, owner, never)
    assert.deepEqual(
      left.map(({ table: name }) => name.slice(besidePipe.length + 1)),
      ['0_6_x_y_rows0', '0_7_x_y_rows2', '1_5_x_y_rows4', '1_6_check_z6'],
    )
  })
})
