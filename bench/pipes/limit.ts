// Limit: prepared insert bodies in memory, sent to the engine over a bare socket, one after another.
import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { fullName, type TableRef } from '../../src/engine/side-tables.ts'
import { markerColumn, markerOf } from '../../src/engine/table-delivery.ts'
import { nullTableText, planView, viewText } from '../../src/engine/view-text.ts'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { columns, usualRowBytes } from './orders.ts'

export type BodyEncoding = 'plain' | 'gzip'

/** Insert size of Penstock. */
const insertBytes = 32 * 1_024 * 1_024

export interface Bodies {
  plain: Buffer[]
  /** gzip with stored (uncompressed) blocks, as Penstock sends. */
  gzip: Buffer[]
}

/** `linesOf` returns orders from one number to another in the order of the source. */
export function makeBodies(rows: number, linesOf: (begin: number, end: number) => Buffer): Bodies {
  const rowsPerBody = Math.floor(insertBytes / usualRowBytes)
  const plain: Buffer[] = []
  for (let begin = 0; begin < rows; begin += rowsPerBody) {
    plain.push(linesOf(begin, Math.min(rows, begin + rowsPerBody)))
  }
  return { plain, gzip: plain.map((body) => gzipSync(body, { level: 0 })) }
}

/** Returns the duration in seconds. */
export async function sendAll(
  engine: EngineServer,
  table: string,
  bodies: Buffer[],
  encoding: BodyEncoding,
): Promise<number> {
  const beganAtMs = performance.now()
  for (const body of bodies) await sendOne(engine, { table, body, encoding })
  return (performance.now() - beganAtMs) / 1_000
}

/** One block per insert, whatever its number of rows. */
const oneBlock = {
  max_insert_block_size: '1000000000',
  min_insert_block_size_rows: '1000000000',
  min_insert_block_size_bytes: String(1024 ** 3),
}

/**
 * Inserts as Penstock does into an engine without deduplication tokens: through one view per insert that adds the marker column.
 */
export async function sendAllMarked(engine: EngineServer, target: TableRef, bodies: Buffer[]): Promise<number> {
  const there = [...columns, { name: markerColumn, type: 'String' }].map((column) => ({ ...column, default_kind: '' }))
  const named = columns.map(({ name }) => ({ column: name, field: name }))
  const shape = { format: 'JSONEachRow' as const, fields: columns, columns: named }
  const beganAtMs = performance.now()
  for (const [index, body] of bodies.entries()) {
    const plan = planView(shape, there, { marker: markerOf(`${target.table} ${index}`), mayHaveNulls: false })
    if (!plan) throw new Error('orders cannot be inserted through a view')
    const from = { ...target, table: `${target.table}_${index}_rows` }
    const view = fullName({ ...target, table: `${target.table}_${index}_view` })
    await engine.query(nullTableText(fullName(from), plan))
    await engine.query(viewText(view, { from, to: target, plan }))
    await sendOne(engine, { table: fullName(from), body, encoding: 'gzip', settings: oneBlock })
    await engine.query(`DROP TABLE ${view}`)
    await engine.query(`DROP TABLE ${fullName(from)}`)
  }
  return (performance.now() - beganAtMs) / 1_000
}

interface Sending {
  table: string
  body: Buffer
  encoding: BodyEncoding
  settings?: Record<string, string>
}

async function sendOne(engine: EngineServer, { table, body, encoding, settings = {} }: Sending): Promise<void> {
  const { host, port, user } = engine
  const parameters = new URLSearchParams({ query: `INSERT INTO ${table} FORMAT JSONEachRow`, ...settings })
  const head = [
    `POST /?${parameters} HTTP/1.1`,
    `Host: ${host}:${port}`,
    'Connection: close',
    `X-ClickHouse-User: ${user.username}`,
    `X-ClickHouse-Key: ${user.password}`,
    `Content-Length: ${body.length}`,
    ...(encoding === 'gzip' ? ['Content-Encoding: gzip'] : []),
    '\r\n',
  ]
  const socket = connect(port, host)
  let answer = ''
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text
  })
  await once(socket, 'connect')
  socket.write(head.join('\r\n'))
  socket.write(body)
  await once(socket, 'close')
  if (!/^HTTP\/1\.1 200 /.test(answer)) throw new Error(`the engine refused a body of the limit: ${answer}`)
}
