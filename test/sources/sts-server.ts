// Fake STS for AssumeRole. It issues credentials for the role and external id; the signature check in front of it authenticates the
// caller.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { CheckedKey } from './signature-check.ts'

export interface AssumedRole {
  roleArn: string
  sessionName: string
  durationSeconds: number
}

export interface StsOptions {
  roleArn: string
  externalId: string
  /** Issued keys are added here. */
  keys: CheckedKey[]
  /** Lifetime of the credentials. */
  lifetimeMs?: number
}

export interface StsServer {
  url: string
  /** Successful AssumeRole requests. */
  assumed: AssumedRole[]
  stop(): Promise<void>
}

export async function startSts({ roleArn, externalId, keys, lifetimeMs = 3_600_000 }: StsOptions): Promise<StsServer> {
  const assumed: AssumedRole[] = []
  const answerTo = (form: URLSearchParams): { status: number; body: string } => {
    const requestedArn = form.get('RoleArn') ?? ''
    if (!/^arn:aws:iam::\d{12}:role\/.+$/.test(requestedArn)) return refuse(400, 'ValidationError')
    if (requestedArn !== roleArn || form.get('ExternalId') !== externalId) return refuse(403, 'AccessDenied')
    const sessionName = form.get('RoleSessionName') ?? ''
    assumed.push({ roleArn, sessionName, durationSeconds: Number(form.get('DurationSeconds')) })
    const expiresAt = new Date(Date.now() + lifetimeMs)
    const key = {
      accessKeyId: `ASIA${randomUUID().replaceAll('-', '').slice(0, 16).toUpperCase()}`,
      secretKey: randomUUID(),
      sessionToken: `token/+=${randomUUID()}`,
      mayRead: true,
      expiresAt,
    }
    keys.push(key)
    return { status: 200, body: grant(key, expiresAt) }
  }
  const server = createServer(async (request, response) => {
    const { status, body } = answerTo(new URLSearchParams(await text(request)))
    response.writeHead(status, { 'content-type': 'text/xml' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    assumed,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

const namespace = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'

function refuse(status: number, code: string): { status: number; body: string } {
  const body = `<ErrorResponse ${namespace}><Error><Type>Sender</Type><Code>${code}</Code><Message>No.</Message></Error><RequestId>${randomUUID()}</RequestId></ErrorResponse>`
  return { status, body }
}

function grant({ accessKeyId, secretKey, sessionToken }: CheckedKey, expiresAt: Date): string {
  const credentials = `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${expiresAt.toISOString()}</Expiration>`
  return `<AssumeRoleResponse ${namespace}><AssumeRoleResult><Credentials>${credentials}</Credentials></AssumeRoleResult><ResponseMetadata><RequestId>${randomUUID()}</RequestId></ResponseMetadata></AssumeRoleResponse>`
}
