// The limit: the rows are there already as the bodies of inserts, and go to the engine over a bare socket, one after the other.
import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { usualRowBytes } from './orders.ts'

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
  for (const body of bodies) await sendOne(engine, table, body, encoding)
  return (performance.now() - beganAtMs) / 1_000
}

async function sendOne(engine: EngineServer, table: string, body: Buffer, encoding: BodyEncoding): Promise<void> {
  const { host, port, user } = engine
  const parameters = new URLSearchParams({ query: `INSERT INTO ${table} FORMAT JSONEachRow` })
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
