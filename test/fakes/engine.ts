// Minimal server that answers like ClickHouse, as far as the engine check needs.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TestEngine {
  port: number
  url: string
  /** Number of version queries. */
  asked: number
  /** Kind of the next answers. */
  answer: 'version' | 'error' | 'nothing'
  username: string
  password: string
  stop(): Promise<void>
  /** On the same port. */
  start(): Promise<void>
}

export async function startEngine(version = '26.5.1.882'): Promise<TestEngine> {
  let server: Server
  const engine: TestEngine = {
    port: 0,
    url: '',
    asked: 0,
    answer: 'version',
    username: 'default',
    password: '',
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async start() {
      server = createServer((request, response) => {
        engine.asked++
        if (engine.answer === 'nothing') return
        const { 'x-clickhouse-user': user, 'x-clickhouse-key': key } = request.headers
        if (user !== engine.username || key !== engine.password) {
          response.writeHead(403, { 'x-clickhouse-exception-code': '516' }).end('Code: 516. DB::Exception')
        } else if (engine.answer === 'error') {
          response.writeHead(500, { 'x-clickhouse-exception-code': '241' }).end('Code: 241. DB::Exception')
        } else response.end(`${version}\n`)
      }).listen(engine.port, '127.0.0.1')
      await once(server, 'listening')
      engine.port = (server.address() as AddressInfo).port
      engine.url = `http://127.0.0.1:${engine.port}`
    },
  }
  await engine.start()
  return engine
}
