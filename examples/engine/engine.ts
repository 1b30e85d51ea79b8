// A ClickHouse to try Penstock with, when there is no other: chDB (ClickHouse compiled to WebAssembly, from npm) behind as much of
// ClickHouse's HTTP interface as Penstock speaks. It keeps everything in memory and runs one query at a time: not for real data.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { gunzipSync } from 'node:zlib'

interface Connection {
  query(text: string, format?: string): Promise<{ text(): string }>
}

const host = '127.0.0.1'
const port = Number(process.env.PORT ?? 8123)
/** Of a query without a FORMAT of its own. */
const defaultFormat = 'TabSeparated'
/** Parameters of a request that are no settings. */
const notSettings = [
  'query',
  'query_id',
  'user',
  'password',
  'database',
  'default_format',
  'wait_end_of_query',
  'buffer_size',
  'compress',
  'decompress',
  'session_id',
]

installOnce()
const engine = await startEngine()
let last: Promise<unknown> = Promise.resolve()

createServer((request, response) => {
  answer(request, response).catch(() => response.destroy())
})
  .on('error', (error: NodeJS.ErrnoException) => {
    const taken = error.code === 'EADDRINUSE'
    console.error(taken ? `Port ${port} is taken: is a ClickHouse running there already?` : `Cannot listen on ${port}.`)
    process.exit(1)
  })
  .listen(port, host, () => console.log(`ClickHouse (in memory, for trying only) answers at http://${host}:${port}`))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${host}`)
  if (url.pathname === '/ping') {
    response.end('Ok.\n')
    return
  }
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const sent = Buffer.concat(chunks)
  const turn = last.then(async () => {
    try {
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      const text = await run(url.searchParams, body.toString())
      response.writeHead(200, { 'content-type': 'text/tab-separated-values; charset=UTF-8' }).end(text)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const code = /^Code: (\d+)/.exec(message)?.[1] ?? '49'
      response.writeHead(500, { 'x-clickhouse-exception-code': code }).end(message)
    }
  })
  last = turn
  await turn
}

async function run(parameters: URLSearchParams, body: string): Promise<string> {
  const inUrl = parameters.get('query')
  const settings = [...parameters].filter(([name]) => !notSettings.includes(name))
  const text = inUrl === null ? body : `${inUrl}\n${body}`
  try {
    for (const [name, value] of settings) await engine.query(`SET ${asName(name)} = ${asText(value)}`)
    const result = await engine.query(withoutSync(withInput(text)), parameters.get('default_format') ?? defaultFormat)
    return /^\s*INSERT\b/i.test(text) ? '' : result.text()
  } finally {
    for (const [name] of settings) await engine.query(`SET ${asName(name)} = DEFAULT`).catch(() => undefined)
  }
}

/** The function `input` reads from the client of a server, which there is none of here: the same rows as a text instead. */
function withInput(text: string): string {
  const found = /^(.*?)\binput\(\s*('(?:[^'\\]|\\.)*')\s*\)(.*?)\bFORMAT\s+(\w+)[ \t]*\n?(.*)$/is.exec(text)
  if (!found || !/^\s*INSERT\b/i.test(text)) return text
  const [, before, structure, between, format, rows = ''] = found
  return `${before}format(${format}, ${structure}, ${asText(rows)})${between}`
}

/** This engine has no thread that would free the table meanwhile, and would wait for it for ever. */
function withoutSync(text: string): string {
  return text.replace(/^(\s*DROP\s+TABLE\b.*?)\s+SYNC\s*$/is, '$1')
}

function asName(name: string): string {
  return `\`${name.replaceAll(/[`\\]/g, '\\$&')}\``
}

function asText(value: string): string {
  return `'${value.replaceAll(/['\\]/g, '\\$&')}'`
}

function installOnce(): void {
  const folder = import.meta.dirname
  if (existsSync(`${folder}/node_modules/chdb-wasm`)) return
  console.log('Installing ClickHouse for WebAssembly from npm (300 MB, once) …')
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(1)
}

async function startEngine(): Promise<Connection> {
  const require = createRequire(import.meta.url)
  const main: string = require.resolve('chdb-wasm')
  const { AsyncChdb } = await import(main)
  const chdb = await AsyncChdb.create({ moduleUrl: new URL('chdb.mjs', `file://${main}`).href })
  return chdb.connect()
}
