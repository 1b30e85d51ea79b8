// IAM token for Amazon MSK: a presigned request that is never sent. The broker has AWS check the signature.
import { createHash, createHmac } from 'node:crypto'
import { asciiLowerCase } from '../../lib/ascii-case.ts'
import type { AwsIdentity } from '../aws/aws.ts'

/** How long a broker accepts the token; the connection can last longer. */
const expirySeconds = 900
const service = 'kafka-cluster'
const algorithm = 'AWS4-HMAC-SHA256'

/** For OAUTHBEARER. `nowMs` is for tests. */
export function mskToken(credentials: AwsIdentity, region: string, nowMs = Date.now()): string {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const host = `kafka.${region}.amazonaws.com`
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const day = time.slice(0, 8)
  const scope = `${day}/${region}/${service}/aws4_request`
  // Sorted by name, as Signature Version 4 requires.
  const parameters: [string, string][] = [
    ['Action', 'kafka-cluster:Connect'],
    ['X-Amz-Algorithm', algorithm],
    ['X-Amz-Credential', `${accessKeyId}/${scope}`],
    ['X-Amz-Date', time],
    ['X-Amz-Expires', String(expirySeconds)],
    ...(sessionToken ? [['X-Amz-Security-Token', sessionToken] as [string, string]] : []),
    ['X-Amz-SignedHeaders', 'host'],
  ]
  const query = parameters.map(([name, value]) => `${name}=${encode(value)}`).join('&')
  const request = ['GET', '/', query, `host:${host}\n`, 'host', sha256('')].join('\n')
  const text = [algorithm, time, scope, sha256(request)].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`)
  const signature = hmac(key, text).toString('hex')
  // Appears in the logs of AWS; not signed.
  const url = `https://${host}/?${query}&X-Amz-Signature=${signature}&User-Agent=penstock`
  return Buffer.from(url).toString('base64url')
}

/** Region of an MSK broker, provisioned or serverless; undefined when the host does not have a name of AWS. */
export function regionOfBroker(host: string): string | undefined {
  const name = asciiLowerCase(host).replace(/\.$/, '')
  return /\.kafka(?:-serverless)?\.([a-z]{2,}(?:-[a-z]+)+-\d{1,2})\.amazonaws\.com(?:\.cn)?$/.exec(name)?.[1]
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
