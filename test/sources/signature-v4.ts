// AWS Signature Version 4 on the server side: parses the claim of a request, and computes the expected signature. Shares no code with
// the client, so that tests compare two implementations.
import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface SignedRequest {
  method: string
  /** Path and query as they were sent. */
  target: string
  headers: IncomingHttpHeaders
  body: Uint8Array
}

export interface SignatureClaim {
  accessKeyId: string
  /** `20260131`. */
  day: string
  region: string
  service: string
  /** `20260131T120000Z`. */
  time: string
  signedHeaders: string[]
  signature: string
  sessionToken: string | undefined
  /** Presigned: the signature is in the query. */
  isPresigned: boolean
}

/** The claimed identity; undefined for an unsigned request. */
export function claimOf({ target, headers }: SignedRequest): SignatureClaim | undefined {
  const query = new URLSearchParams(target.split('?')[1] ?? '')
  const isPresigned = query.has('X-Amz-Signature')
  const fields = isPresigned ? fieldsOfQuery(query) : fieldsOfHeader(headers.authorization)
  if (!fields) return undefined
  const [accessKeyId, day, region, service] = fields.credential.split('/')
  if (!accessKeyId || !day || !region || !service) return undefined
  const { 'x-amz-date': date, 'x-amz-security-token': token } = headers
  return {
    accessKeyId,
    day,
    region,
    service,
    time: (isPresigned ? query.get('X-Amz-Date') : String(date)) ?? '',
    signedHeaders: fields.signedHeaders.split(';'),
    signature: fields.signature,
    sessionToken: (isPresigned ? query.get('X-Amz-Security-Token') : token)?.toString() ?? undefined,
    isPresigned,
  }
}

interface ClaimFields {
  credential: string
  signedHeaders: string
  signature: string
}

function fieldsOfHeader(authorization: string | undefined): ClaimFields | undefined {
  const match = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    authorization ?? '',
  )
  return match ? { credential: match[1]!, signedHeaders: match[2]!, signature: match[3]! } : undefined
}

function fieldsOfQuery(query: URLSearchParams): ClaimFields {
  const field = (name: string): string => query.get(name) ?? ''
  return {
    credential: field('X-Amz-Credential'),
    signedHeaders: field('X-Amz-SignedHeaders'),
    signature: field('X-Amz-Signature'),
  }
}

/** The signature of the request with this secret. */
export function signatureFor(request: SignedRequest, claim: SignatureClaim, secretKey: string): string {
  const { day, region, service, time } = claim
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonicalForm(request, claim))].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (parent, part) => createHmac('sha256', parent).update(part).digest(),
    `AWS4${secretKey}`,
  )
  return createHmac('sha256', key).update(text).digest('hex')
}

/** Whether the body matches its signed hash. True for unsigned payloads and chunked signatures. */
export function hasSignedBody({ headers, body }: SignedRequest): boolean {
  const declared = headers['x-amz-content-sha256']
  return typeof declared !== 'string' || !/^[0-9a-f]{64}$/.test(declared) || declared === sha256(body)
}

function canonicalForm(request: SignedRequest, { service, signedHeaders, isPresigned }: SignatureClaim): string {
  const { method, target, headers, body } = request
  const [path = '/', query = ''] = target.split('?')
  const once = path.split('/').map((segment) => encode(decodeURIComponent(segment)))
  // S3 encodes path segments once; other services encode them twice.
  const canonicalPath = (service === 's3' ? once : once.map(encode)).join('/')
  const parameters = query
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='))
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=')
      return `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`
    })
    .toSorted()
  const headerLines = signedHeaders.map(
    (name) =>
      `${name}:${String(headers[name] ?? '')
        .trim()
        .replaceAll(/ +/g, ' ')}\n`,
  )
  const unsigned = isPresigned && service === 's3' ? 'UNSIGNED-PAYLOAD' : sha256(body)
  const payload = headers['x-amz-content-sha256'] ?? unsigned
  return [method, canonicalPath, parameters.join('&'), headerLines.join(''), signedHeaders.join(';'), payload].join(
    '\n',
  )
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
