// The limit: the rows are there already as the bodies of inserts, and go to the engine over a bare socket, one after the other.
import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { fullName, type TableRef } from '../../src/engine/side-tables.ts'
import { markerColumn, markerOf } from '../../src/engine/table-delivery.ts'
import { findPassage, passageText, viewText } from '../../src/engine/view-text.ts'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { columns, usualRowBytes } from './orders.ts'

export type BodyEncoding = 'plain' | 'gzip'

/** What Penstock sends at once. */
const insertBytes = 32 * 1_024 * 1_024

export interface Bodies {
  plain: Buffer[]
  /** Not compressed, only wrapped: what Penstock sends. */
  gzip: Buffer[]
}

/** `linesOf`: orders from one number up to another, in the order in which the source gives them. */
export function makeBodies(rows: number, linesOf: (begin: number, end: number) => Buffer): Bodies {
  const rowsPerBody = Math.floor(insertBytes / usualRowBytes)
  const plain: Buffer[] = []
  for (let begin = 0; begin < rows; begin += rowsPerBody) {
    plain.push(linesOf(begin, Math.min(rows, begin + rowsPerBody)))
  }
  return { plain, gzip: plain.map((body) => gzipSync(body, { level: 0 })) }
}

/** Gives the seconds that it took. */
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

/** One block each, however many rows it has. */
const oneBlock = {
  max_insert_block_size: '1000000000',
  min_insert_block_size_rows: '1000000000',
  min_insert_block_size_bytes: String(1024 ** 3),
}

/** As Penstock inserts where the engine does not know tokens: through a view of each insert's own, which marks the rows. */
export async function sendAllMarked(engine: EngineServer, place: TableRef, bodies: Buffer[]): Promise<number> {
  const there = [...columns, { name: markerColumn, type: 'String' }].map((column) => ({ ...column, default_kind: '' }))
  const named = columns.map(({ name }) => ({ column: name, field: name }))
  const shape = { format: 'JSONEachRow' as const, fields: columns, columns: named }
  const beganAtMs = performance.now()
  for (const [index, body] of bodies.entries()) {
    const passage = findPassage(shape, there, { marker: markerOf(`${place.table} ${index}`), mayHaveNulls: false })
    if (!passage) throw new Error('orders do not go through a view')
    const from = { ...place, table: `${place.table}_${index}_rows` }
    const view = fullName({ ...place, table: `${place.table}_${index}_view` })
    await engine.query(passageText(fullName(from), passage))
    await engine.query(viewText(view, { from, to: place, passage }))
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
