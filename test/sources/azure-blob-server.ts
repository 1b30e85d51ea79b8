// Fake Azure Blob Storage in this process, as far as sources use it: keys and signatures are checked, lists have pages, and blobs have
// ranges. Written from the service documentation, independently of the client.
import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AzureServer } from './object-server.ts'

interface Blob {
  bytes: Uint8Array
  etag: string
  modifiedAt: Date
}

export const account = 'penstocktest'

export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

/** Becomes an error response of Azure. */
export function refusing(answer: (request: IncomingMessage, response: ServerResponse) => void): RequestListener {
  return (request, response) => {
    try {
      answer(request, response)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const { status, code } = error
      response.writeHead(status, { 'x-ms-error-code': code, 'content-type': 'application/xml' })
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>Azure says no.</Message></Error>`)
    }
  }
}

export async function startAzureBlobServer(): Promise<AzureServer> {
  const accountKey = randomBytes(64)
  const containers = new Map<string, Map<string, Blob>>()
  const server = createServer(refusing((request, response) => answer(request, response, containers, accountKey)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${account}`
  let changes = 0
  return {
    name: 'Azure in this process',
    connectionString: `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${accountKey.toString('base64')};BlobEndpoint=${endpoint};`,
    async createContainer(name) {
      containers.set(name, new Map())
    },
    async put(container, key, bytes) {
      const etag = `0x8D${(++changes).toString(16).toUpperCase().padStart(12, '0')}`
      containers.get(container)!.set(key, { bytes, etag, modifiedAt: new Date() })
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

type Containers = Map<string, Map<string, Blob>>

function answer(request: IncomingMessage, response: ServerResponse, containers: Containers, accountKey: Buffer): void {
  const url = new URL(request.url!, 'http://127.0.0.1')
  const [, , container = '', ...rest] = url.pathname.split('/')
  const isList = url.searchParams.get('comp') === 'list'
  assertMay(request, url, container, isList ? 'l' : 'r', accountKey)
  const blobs = containers.get(container)
  if (!blobs) throw new Refused(404, 'ContainerNotFound')
  const blob = blobs.get(decodeURIComponent(rest.join('/')))
  if (isList) list(response, url.searchParams, blobs)
  else if (blob) read(request, response, blob)
  else throw new Refused(404, 'BlobNotFound')
}

function assertMay(request: IncomingMessage, url: URL, container: string, needed: string, accountKey: Buffer): void {
  const sign = (text: string): string => createHmac('sha256', accountKey).update(text).digest('base64')
  const query = url.searchParams
  if (query.has('sig')) {
    const of = (name: string): string => query.get(name) ?? ''
    const signed = [
      'sp',
      'st',
      'se',
      '',
      'si',
      'sip',
      'spr',
      'sv',
      'sr',
      'snapshot',
      'ses',
      'rscc',
      'rscd',
      'rsce',
      'rscl',
      'rsct',
    ]
    const text = signed.map((name) => (name === '' ? `/blob/${account}/${container}` : of(name))).join('\n')
    if (of('sig') !== sign(text) || Date.parse(of('se')) < Date.now()) throw new Refused(403, 'AuthenticationFailed')
    if (!of('sp').includes(needed)) throw new Refused(403, 'AuthorizationPermissionMismatch')
    return
  }
  if (request.headers.authorization === undefined) throw new Refused(409, 'PublicAccessNotPermitted')
  if (!isSignedWith(accountKey, request, url)) throw new Refused(403, 'AuthenticationFailed')
}

/** Shared Key authorization of the Azure Storage services. */
export function isSignedWith(accountKey: Buffer, request: IncomingMessage, url: URL): boolean {
  const signature = createHmac('sha256', accountKey).update(signedText(request, url)).digest('base64')
  return request.headers.authorization === `SharedKey ${account}:${signature}`
}

function signedText({ method, headers }: IncomingMessage, url: URL): string {
  const of = (name: string): string => String(headers[name] ?? '')
  const length = of('content-length') === '0' ? '' : of('content-length')
  const standard = [
    'content-encoding',
    'content-language',
    '',
    'content-md5',
    'content-type',
    'date',
    'if-modified-since',
    'if-match',
    'if-none-match',
    'if-unmodified-since',
    'range',
  ]
  const own = Object.keys(headers).filter((name) => name.startsWith('x-ms-'))
  const resource = [...url.searchParams.keys()].toSorted().map((name) => `\n${name}:${url.searchParams.get(name)}`)
  return [
    method,
    ...standard.map((name) => (name === '' ? length : of(name))),
    ...own.toSorted().map((name) => `${name}:${of(name)}`),
    `/${account}${url.pathname}${resource.join('')}`,
  ].join('\n')
}

function list(response: ServerResponse, query: URLSearchParams, blobs: Map<string, Blob>): void {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const prefix = query.get('prefix') ?? ''
  const marker = Buffer.from(query.get('marker') ?? '', 'base64').toString()
  const maxResults = Number(query.get('maxresults') ?? 5_000)
  const keys = [...blobs.keys()]
    .filter(
      (key) => key.startsWith(prefix) && (marker === '' || Buffer.compare(Buffer.from(key), Buffer.from(marker)) >= 0),
    )
    .toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
  const items = keys.slice(0, maxResults).map((key) => {
    const { etag, bytes, modifiedAt } = blobs.get(key)!
    const properties = `<Last-Modified>${modifiedAt.toUTCString()}</Last-Modified><Etag>${etag}</Etag><Content-Length>${bytes.length}</Content-Length><BlobType>BlockBlob</BlobType>`
    return `<Blob><Name>${escaped(key)}</Name><Properties>${properties}</Properties></Blob>`
  })
  const next = keys[maxResults]
  const nextMarker = next === undefined ? '' : Buffer.from(next).toString('base64')
  response.writeHead(200, { 'content-type': 'application/xml' })
  response.end(
    `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${items.join('')}</Blobs><NextMarker>${nextMarker}</NextMarker></EnumerationResults>`,
  )
}

function read({ method, headers }: IncomingMessage, response: ServerResponse, { bytes, etag, modifiedAt }: Blob): void {
  if (headers['if-match'] !== undefined && headers['if-match'] !== `"${etag}"`)
    throw new Refused(412, 'ConditionNotMet')
  const common = { etag: `"${etag}"`, 'last-modified': modifiedAt.toUTCString(), 'x-ms-blob-type': 'BlockBlob' }
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(String(headers['x-ms-range'] ?? headers.range ?? '')) ?? []
  if (from === undefined) {
    response.writeHead(200, { ...common, 'content-length': bytes.length })
    response.end(method === 'HEAD' ? undefined : bytes)
    return
  }
  const [start, end] = [Number(from), Math.min(to ? Number(to) + 1 : bytes.length, bytes.length)]
  if (start >= bytes.length) throw new Refused(416, 'InvalidRange')
  const part = bytes.subarray(start, end)
  const contentRange = `bytes ${start}-${end - 1}/${bytes.length}`
  response.writeHead(206, { ...common, 'content-length': part.length, 'content-range': contentRange })
  response.end(part)
}
