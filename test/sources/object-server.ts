// Object stores for tests: one in this process, or a real one. The suites must hold for all.
import type { AddressInfo } from 'node:net'
import { buildApp } from 'fauxqs'
import type { Certificate } from './certificates.ts'
import { type CheckedKey, startSignatureCheck } from './signature-check.ts'

export interface AccessKeyPair {
  accessKeyId: string
  secretKey: string
}

export interface BucketOptions {
  /** Anyone may read and list its objects. */
  isPublic?: boolean
  /** False: only the owner may list it, even if it is public. */
  mayBeListed?: boolean
}

/** An S3 server with path-style URLs. */
export interface ObjectServer {
  /** `fauxqs`, or `MinIO RELEASE.…`. */
  name: string
  /** `http://127.0.0.1:port`, or `https://…` with TLS. */
  endpoint: string
  region: string
  accessKey: AccessKeyPair
  /** May do everything with every bucket, whatever its policy says. */
  root?: AccessKeyPair
  /** A known key without permissions. */
  powerless?: AccessKeyPair
  /** May list every bucket, and read no object. */
  onlyLists?: AccessKeyPair
  /** May read every object, and list no bucket. */
  onlyReads?: AccessKeyPair
  createBucket(name: string, options?: BucketOptions): Promise<void>
  put(bucket: string, key: string, bytes: Uint8Array): Promise<void>
  stop(): Promise<void>
}

/** A server with the API of Azure Blob Storage. */
export interface AzureServer {
  /** `Azurite 3.37.0`. */
  name: string
  /** With AccountName, AccountKey and BlobEndpoint. */
  connectionString: string
  createContainer(name: string): Promise<void>
  put(container: string, key: string, bytes: Uint8Array): Promise<void>
  stop(): Promise<void>
}

/** The same keys for objects and queues. */
export const keyOf = (name: string, limits: Partial<CheckedKey> = {}): CheckedKey => ({
  accessKeyId: `AKIA${name.toUpperCase().padEnd(16, 'X')}`,
  secretKey: `secret-of-${name}/+${name.length}`,
  mayRead: true,
  ...limits,
})

/** Credentials of an assumed role. */
export interface TemporaryKey extends AccessKeyPair {
  sessionToken: string
}

/** In this process: a store without access control, behind a signature check. */
export async function startObjectServer({
  tls,
}: {
  tls?: Certificate
} = {}): Promise<ObjectServer & { temporary: TemporaryKey }> {
  const store = buildApp({ logger: false })
  await store.listen({ host: '127.0.0.1', port: 0 })
  const { port } = store.server.address() as AddressInfo
  const target = `http://127.0.0.1:${port}`
  const region = 'eu-central-1'
  const accessKey = keyOf('owner')
  const powerless = keyOf('powerless', { mayRead: false })
  const onlyLists = keyOf('lister', { denies: ['s3:GetObject'] })
  const onlyReads = keyOf('reader', { denies: ['s3:ListBucket'] })
  const temporary = { ...keyOf('temporary'), sessionToken: 'token-of-the-session' }
  const buckets = new Map<string, BucketOptions>()
  const isPublic = (_method: string, path: string): boolean => {
    const [, bucket, inBucket] = /^\/([^/?]+)(?:\/([^?]*))?/.exec(path) ?? []
    const options = buckets.get(bucket ?? '')
    return options?.isPublic === true && (Boolean(inBucket) || options.mayBeListed !== false)
  }
  const keys = [accessKey, powerless, onlyLists, onlyReads, temporary]
  const check = await startSignatureCheck({ service: 's3', region, target, keys, isPublic, ...(tls && { tls }) })
  const send = async (path: string, body: Uint8Array = new Uint8Array()): Promise<void> => {
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(body.length) }
    const { statusCode, payload } = await store.inject({
      method: 'PUT',
      url: path,
      payload: Buffer.from(body),
      headers,
    })
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${payload}`)
  }
  return {
    name: 'fauxqs',
    endpoint: check.url,
    region,
    accessKey,
    powerless,
    onlyLists,
    onlyReads,
    temporary,
    async createBucket(name, options = {}) {
      buckets.set(name, options)
      await send(`/${name}`)
    },
    put: (bucket, name, bytes) => send(`/${bucket}/${name.split('/').map(encodeURIComponent).join('/')}`, bytes),
    async stop() {
      await check.stop()
      await store.close()
    },
  }
}
