// Proxy that checks AWS signatures for servers that do not. It rejects requests with the errors of AWS, and forwards valid ones
// unchanged.
//
//   const check = await startSignatureCheck({ service: 's3', region: 'eu-west-1', target: 'http://127.0.0.1:4567', keys })
//   … use check.url …; await check.stop()
//
// `keys` is read for each request, so that keys can be added later, such as those of an assumed role.
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type Answer, answerOf, type CheckedService, errorAnswer, type Refusal } from './signature-refusals.ts'
import { claimOf, hasSignedBody, type SignatureClaim, type SignedRequest, signatureFor } from './signature-v4.ts'

export interface CheckedKey {
  accessKeyId: string
  secretKey: string
  /** False: known, without permissions. */
  mayRead: boolean
  /** Actions denied despite `mayRead`, such as `s3:GetObject`, `s3:ListBucket` or `kinesis:GetRecords`. */
  denies?: string[]
  /** Session token of temporary credentials, required with every request. */
  sessionToken?: string
  /** From then on, requests fail with an expired token. */
  expiresAt?: Date
}

export interface SignatureCheckOptions {
  service: CheckedService
  /** Signatures must be for this region. */
  region: string
  /** `http://127.0.0.1:port` of the target server. */
  target: string
  keys: CheckedKey[]
  /** Uses TLS with this certificate (PEM). */
  tls?: { cert: string; key: string }
  /** S3 only: whether an unsigned request is allowed. Path and query as they were sent. */
  isPublic?(method: string, target: string): boolean
  /** Called with the action of a valid request, such as `kinesis:GetRecords`. Returns an error to respond with instead, if any. */
  interfere?(action: string): Interference | Promise<Interference>
}

type Interference = { status: number; code: string } | undefined

export interface SignatureCheck {
  /** `http://127.0.0.1:port`, or `https://…` */
  url: string
  stop(): Promise<void>
}

const toleranceMs = 15 * 60_000

export async function startSignatureCheck(options: SignatureCheckOptions): Promise<SignatureCheck> {
  const { target, tls } = options
  const agent = new Agent({ keepAlive: true })
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    serve(incoming, response, options, agent).catch(() => response.destroy())
  }
  const server = tls ? createTlsServer(tls, handle) : createServer(handle)
  if (!target.startsWith('http://127.0.0.1:')) throw new Error('the target must be on this machine')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      agent.destroy()
      await closed
    },
  }
}

async function serve(
  incoming: IncomingMessage,
  response: ServerResponse,
  options: SignatureCheckOptions,
  agent: Agent,
): Promise<void> {
  const { service, region, target } = options
  const request: SignedRequest = {
    method: incoming.method ?? 'GET',
    target: incoming.url ?? '/',
    headers: incoming.headers,
    body: await buffer(incoming),
  }
  // S3 sends it with every response, also with errors: clients use it to find the region of a bucket.
  if (service === 's3') response.setHeader('x-amz-bucket-region', region)
  const refusal = refusalOf(request, options)
  if (refusal) return send(response, answerOf(service, refusal, region))
  const error = await options.interfere?.(actionOf(service, request))
  if (error) return send(response, errorAnswer(service, error.status, error.code, 'as the test wants it'))
  await forward(request, target, agent, response)
}

function send(response: ServerResponse, { status, contentType, body }: Answer): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

function refusalOf(request: SignedRequest, options: SignatureCheckOptions): Refusal | undefined {
  const { service, region, keys, isPublic } = options
  const claim = claimOf(request)
  if (!claim) return isPublic?.(request.method, request.target) ? undefined : 'unsigned'
  const key = keys.find(({ accessKeyId }) => accessKeyId === claim.accessKeyId)
  if (!key || key.sessionToken !== claim.sessionToken) return key && service === 's3' ? 'token' : 'unknown key'
  if (claim.region !== region) return 'other region'
  if (Math.abs(Date.now() - timeOf(claim)) > toleranceMs) return 'skewed'
  const isRight = claim.service === service && claim.signature === signatureFor(request, claim, key.secretKey)
  if (!isRight || !hasSignedBody(request)) return 'signature'
  if (key.expiresAt && key.expiresAt.getTime() <= Date.now()) return 'expired'
  const action = actionOf(service, request)
  return key.mayRead && !key.denies?.includes(action) ? undefined : 'denied'
}

function timeOf({ time }: SignatureClaim): number {
  return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}

/** The IAM action of the request. S3 paths begin with the bucket. */
function actionOf(service: CheckedService, { method, target, headers, body }: SignedRequest): string {
  if (service === 'kinesis') return `kinesis:${String(headers['x-amz-target']).split('.')[1]}`
  // Batch operations need the permission of the single operation.
  if (service === 'sqs')
    return `sqs:${String(headers['x-amz-target'])
      .split('.')[1]
      ?.replace(/Batch$/, '')}`
  if (service === 'sts') return `sts:${new URLSearchParams(Buffer.from(body).toString()).get('Action')}`
  const key = target.split('?')[0]!.split('/').slice(2).join('/')
  const isRead = method === 'GET' || method === 'HEAD'
  if (key === '') return isRead ? 's3:ListBucket' : 's3:CreateBucket'
  return isRead ? 's3:GetObject' : 's3:PutObject'
}

function forward(request: SignedRequest, target: string, agent: Agent, response: ServerResponse): Promise<void> {
  const { method, headers, body } = request
  return new Promise((resolve, reject) => {
    const sent = httpRequest(target, { path: request.target, method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      answer.once('error', reject)
      response.once('close', resolve)
    })
    sent.once('error', reject)
    response.once('close', () => sent.destroy())
    sent.end(body)
  })
}
