// Sample files of the try-it mode: writes a small file of orders every two seconds and serves the folder on loopback as a
// read-only S3 bucket, from which the sample pipe loads.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const host = '127.0.0.1'
const everyMs = 2_000
const ordersPerFile = 25
/** Older files are deleted. */
const keptFiles = 1_000
const bucket = 'files'

/** Serves until the process exits; `port` 0: any free port. Returns the source URL for a pipe; undefined when the port is taken. */
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
  // Names sort by time, and the rename makes a file visible only when it is complete.
  const name = `${now.toISOString().replaceAll(/[:.]/g, '-')}.json`
  try {
    writeFileSync(join(folder, `.${name}`), lines.join(''), { mode: 0o600 })
    renameSync(join(folder, `.${name}`), join(folder, name))
    for (const old of listFiles(folder).slice(0, -keptFiles)) rmSync(join(folder, old))
  } catch {
    // A full disk is reported by other writers; the next file is tried anyway.
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
    // An invalid URL or a deleted folder must not end Penstock.
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

/** Files never change, so the name identifies the content. */
function etagOf(name: string): string {
  return createHash('md5').update(name).digest('hex')
}

function refuse(response: ServerResponse, code: string, status: number): void {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`)
}
