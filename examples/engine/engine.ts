// A ClickHouse to try Penstock with, when there is no other: chDB (ClickHouse compiled to WebAssembly, from npm) behind as much of
// ClickHouse's HTTP interface as Penstock speaks. It keeps everything in memory and runs one query at a time: not for real data.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { gunzipSync } from 'node:zlib'

interface Engine {
  /** Into the engine's own file system, which is in memory. Takes the bytes away from whoever gives them. */
  putFile(path: string, bytes: Uint8Array): Promise<void>
  query(text: string, format?: string): Promise<{ text(): string }>
}

const host = '127.0.0.1'
const port = Number(process.env.PORT ?? 8123)
/** Where the engine finds what came with an insert: as a part of the statement it would be too long for its parser. */
const rowsFile = '/penstock-rows'
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

if (!Number.isInteger(port) || port < 1 || port > 65_535) {
  console.error(`PORT must be a port, from 1 to 65535, and not "${process.env.PORT}".`)
  process.exit(1)
}
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
      const text = await run(url.searchParams, body)
      response.writeHead(200, { 'content-type': 'text/tab-separated-values; charset=UTF-8' }).end(text)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const code = /^Code: (\d+)/.exec(message)?.[1] ?? '49'
      response.writeHead(500, { 'x-clickhouse-exception-code': code }).end(withoutFile(message))
    }
  })
  last = turn
  await turn
}

async function run(parameters: URLSearchParams, body: Buffer): Promise<string> {
  const inUrl = parameters.get('query')
  const settings = [...parameters].filter(([name]) => !notSettings.includes(name))
  const blockSize = parameters.get('max_insert_block_size')
  // The blocks of what is sent are those of an insert, the blocks of a file those of a select.
  if (blockSize !== null) settings.push(['max_block_size', blockSize])
  const insert = inUrl === null ? undefined : findInsert(inUrl)
  try {
    for (const [name, value] of settings) await engine.query(`SET ${asName(name)} = ${asText(value)}`)
    if (insert) {
      await engine.putFile(rowsFile, new Uint8Array(body))
      await engine.query(insert)
      return ''
    }
    const text = inUrl === null ? body.toString() : `${inUrl}\n${body}`
    const result = await engine.query(withoutSync(text), parameters.get('default_format') ?? defaultFormat)
    return /^\s*INSERT\b/i.test(text) ? '' : result.text()
  } finally {
    if (insert) await engine.putFile(rowsFile, new Uint8Array())
    for (const [name] of settings) await engine.query(`SET ${asName(name)} = DEFAULT`).catch(() => undefined)
  }
}

/** The same insert with its rows from the file; undefined for a statement that brings its rows itself, or is none. */
function findInsert(text: string): string | undefined {
  const [, insert, format] = /^(\s*INSERT\b.*?)\s+FORMAT\s+(\w+)\s*$/is.exec(text) ?? []
  if (insert === undefined || format === undefined) return undefined
  const [, before, structure, after] = /^(.*?)\binput\(\s*('(?:[^'\\]|\\.)*')\s*\)(.*)$/is.exec(insert) ?? []
  if (structure !== undefined) return `${before}file('${rowsFile}', ${format}, ${structure}, 'none')${after}`
  const [, into, settings = ''] = /^(.*?)(\s+SETTINGS\s.*)?$/is.exec(insert) ?? []
  return `${into} FROM INFILE '${rowsFile}' COMPRESSION 'none'${settings} FORMAT ${format}`
}

/** Nobody has sent a file. */
function withoutFile(message: string): string {
  return message.replaceAll(
    /: \(in file\/uri [^)]*\)|: While executing File: data for INSERT was parsed from file/g,
    '',
  )
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

async function startEngine(): Promise<Engine> {
  const require = createRequire(import.meta.url)
  const main: string = require.resolve('chdb-wasm')
  const { AsyncChdb } = await import(main)
  const chdb = await AsyncChdb.create({ moduleUrl: new URL('chdb.mjs', `file://${main}`).href })
  const connection = await chdb.connect()
  return {
    putFile: (path, bytes) => chdb.putFile(path, bytes),
    query: (text, format) => connection.query(text, format),
  }
}
