// Something to load, for the try-it mode: a folder that gets a small file of orders every few seconds, served on this machine as
// a bucket of object storage, to be read by anybody and written by nobody. The sample pipe loads from it.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const host = '127.0.0.1'
const everyMs = 2_000
const ordersPerFile = 25
/** Those before are removed: they have been loaded, or nobody wants them. */
const keptFiles = 1_000
const bucket = 'files'

/** As long as the process runs; `port` 0: any free one. The URL of the orders, as a pipe takes it; undefined when the port is taken. */
export async function serveTryFiles(folder: string, port: number): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const server = createServer((request, response) => answer(folder, request, response))
  if (!(await listen(server, port))) return undefined
  server.unref()
  writeOrders(folder)
  setInterval(() => writeOrders(folder), everyMs).unref()
  const { port: actual } = server.address() as AddressInfo
  return `http://${host}:${actual}/${bucket}/orders/*.json`
}

function listen(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => resolve(true))
  })
}

const products = ['espresso machine', 'grinder', 'kettle', 'filter papers', 'beans, 1 kg', 'milk jug', 'scales', 'cup']
const countries = ['NO', 'NL', 'DE', 'PT', 'NG', 'JP', 'BR', 'CA']

function writeOrders(folder: string): void {
  const now = new Date()
  const lines = Array.from({ length: ordersPerFile }, (_, index) => {
    const orderedAt = new Date(now.getTime() - (ordersPerFile - index) * (everyMs / ordersPerFile))
    const order = {
      order_id: orderedAt.getTime() * 100 + index,
      ordered_at: orderedAt.toISOString().replace('T', ' ').slice(0, 19),
      product: products[Math.floor(Math.random() * products.length)],
      country: countries[Math.floor(Math.random() * countries.length)],
      amount: Math.round(500 + Math.random() * 20_000) / 100,
    }
    return `${JSON.stringify(order)}\n`
  })
  // The newest file has the last name in the order of names, and is whole from the moment it is seen.
  const name = `${now.toISOString().replaceAll(/[:.]/g, '-')}.json`
  try {
    writeFileSync(join(folder, `.${name}`), lines.join(''), { mode: 0o600 })
    renameSync(join(folder, `.${name}`), join(folder, name))
    for (const old of listFiles(folder).slice(0, -keptFiles)) rmSync(join(folder, old))
  } catch {
    // A full disk is told by whatever else writes to it; here the next file may fit again.
  }
}

function listFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^[\w-]+\.json$/.test(name))
    .sort()
}

function answer(folder: string, request: IncomingMessage, response: ServerResponse): void {
  try {
    serve(folder, request, response)
  } catch {
    // An address that is none, or a folder that is gone: not a reason to end Penstock.
    refuse(response, 'InvalidRequest', 400)
  }
}

function serve(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', `http://${host}`)
  const [, inBucket, prefix, name] = /^\/([^/]*)(?:\/([^/]*)(?:\/(.*))?)?$/.exec(url.pathname) ?? []
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (inBucket !== bucket || !isRead) refuse(response, 'AccessDenied', 403)
  else if (url.searchParams.get('list-type') === '2') list(folder, url.searchParams, response)
  else if (prefix !== 'orders' || !listFiles(folder).includes(name ?? '')) refuse(response, 'NoSuchKey', 404)
  else give(name!, readFileSync(join(folder, name!)), request, response)
}

function list(folder: string, parameters: URLSearchParams, response: ServerResponse): void {
  const prefix = parameters.get('prefix') ?? ''
  const after = parameters.get('start-after') ?? ''
  const most = Math.min(Number(parameters.get('max-keys') ?? 1000), 1000)
  const names = listFiles(folder).filter((name) => `orders/${name}`.startsWith(prefix) && `orders/${name}` > after)
  const shown = names.slice(0, most).map((name) => {
    const { size } = statSync(join(folder, name))
    return `<Contents><Key>orders/${name}</Key><Size>${size}</Size><ETag>&quot;${etagOf(name)}&quot;</ETag></Contents>`
  })
  response.writeHead(200, { 'content-type': 'application/xml' })
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>${bucket}</Name><KeyCount>${shown.length}</KeyCount>` +
      `<IsTruncated>${names.length > most}</IsTruncated>${shown.join('')}</ListBucketResult>`,
  )
}

function give(name: string, bytes: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const headers = { etag: `"${etagOf(name)}"`, 'accept-ranges': 'bytes', 'content-type': 'application/json' }
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const part = first === undefined ? bytes : bytes.subarray(Number(first), Number(last) + 1)
  const range = first === undefined ? {} : { 'content-range': `bytes ${first}-${last}/${bytes.length}` }
  response.writeHead(first === undefined ? 200 : 206, { ...headers, ...range, 'content-length': part.length })
  response.end(request.method === 'HEAD' ? undefined : part)
}

/** A file is written once: its name says which it is. */
function etagOf(name: string): string {
  return createHash('md5').update(name).digest('hex')
}

function refuse(response: ServerResponse, code: string, status: number): void {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`)
}
