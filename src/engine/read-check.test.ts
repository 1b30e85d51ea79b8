import assert from 'node:assert/strict'
import { it } from 'node:test'
import { defaultSettings } from '../pipes/settings.ts'
import { EngineError, type Insert } from './engine.ts'
import { AnswerTooLong } from './exchange.ts'
import { openReadCheck } from './read-check.ts'
import type { SinkParts } from './sink-parts.ts'

const { signal } = new AbortController()
const fields = [{ name: 'id', type: 'UInt32' }]
const insert: Omit<Insert, 'body'> = {
  token: 'token',
  format: 'CSV',
  fields: [{ name: 'number', type: 'UInt32' }, ...fields],
  columns: [{ column: 'id', field: 'id' }],
  isRepeat: false,
  settings: defaultSettings,
}

/** Uses an engine that fails when it is asked for the missing numbers. */
async function listWith(failure: EngineError): Promise<unknown> {
  const dropped: unknown[] = []
  const parts = {
    client: {
      query: async (text: string) => (text.startsWith('SELECT number') ? Promise.reject(failure) : ''),
      send: async () => ({ writtenRows: 0, sentBytes: 1 }),
    },
    capabilities: { hasSetting: () => true, canInput: true },
    table: { database: 'pipes', table: 'events' },
    owner: { pipeId: '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', workerIndex: 0, epoch: 1 },
    types: new Map([['id', 'UInt32']]),
    drop: (...tables: unknown[]) => dropped.push(...tables),
  } as unknown as SinkParts
  const check = await openReadCheck(parts, insert, 'number', signal)
  assert.ok(check)
  try {
    return await check.listRejected(Buffer.from('0,1\n'), { first: 0, count: 1 })
  } finally {
    check.close()
    assert.equal(dropped.length, 1)
  }
}

it('returns undefined when the answer is too long', async () => {
  const tooLong = new AnswerTooLong({ protocol: 'http', host: 'engine', port: 8123 } as never)
  assert.equal(await listWith(tooLong), undefined)
  assert.equal(await listWith(new EngineError('user', 'refused')), undefined)
  await assert.rejects(listWith(new EngineError('passing', 'busy')), { message: 'busy' })
})
