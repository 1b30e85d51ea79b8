// A container of Azure Blob Storage or of a compatible service. A list continues with an opaque continuation token.
// Tokens are kept: without one, a list starts at the first blob of the prefix.
import { addAbortSignal, type Readable } from 'node:stream'
import {
  AnonymousCredential,
  ContainerClient,
  newPipeline,
  StorageResponseFormat,
  StorageRetryPolicyType,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { excerptOf } from '../../formats/undecodable.ts'
import { egressAgent } from '../../lib/egress-agent.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { type AzureAttempt, type AzureTarget, azureFailure, unclearAnswer } from './azure-failure.ts'
import { azureHttpClient } from './azure-http.ts'
import type { ContainerLocation } from './object-location.ts'
import {
  bareEtag,
  compareKeys,
  hasDotSegment,
  maxEmptyPages,
  ObjectChanged,
  type ObjectStore,
  ObjectUnavailable,
  quotedEtag,
  type StoredObject,
} from './object-store.ts'
import { firstBytes, wholeObject } from './whole-object.ts'

const connectMs = 10_000
/** Limit of Azure for the name of a blob. */
const maxNameCharacters = 1_024
const maxListed = 1_000

export function openAzureStore(
  location: ContainerLocation,
  context: SourceContext,
  options: SourceAccess,
): ObjectStore {
  const closing = new AbortController()
  const agent = egressAgent(options.egress, location.account.endpoint.startsWith('https:') ? 'https' : 'http', {
    timeoutMs: connectMs,
    signal: AbortSignal.any([options.signal, closing.signal]),
    tls: trustWith(context.caCertificates),
    // No limit on connections: each object that is being read holds one.
  })
  const container = makeClient(location, agent)
  const list = makeList(container, maxListed)

  const attempt = async <Result>(
    { step, key, signal }: Pick<AzureAttempt, 'step' | 'signal'> & { key?: string },
    ask: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await ask()
    } catch (error) {
      const target: AzureTarget = key === undefined ? { kind: 'container', location } : { kind: 'blob', location, key }
      throw azureFailure(error, { step, target, signal })
    }
  }

  return {
    list: (prefix, after, signal) => attempt({ step: 'describe', signal }, () => list(prefix, after, signal)),

    async find(key, signal) {
      if (key.length > maxNameCharacters || hasDotSegment(key)) return undefined
      const ask = () => container.getBlobClient(key).getProperties({ abortSignal: signal })
      try {
        const found = await attempt({ step: 'describe', key, signal }, () =>
          ask().catch((error: unknown) => unclearAnswer(error) ?? Promise.reject(error)),
        )
        if (typeof found === 'string') {
          // Errors of a list have codes: this request fails when more than this blob is affected.
          const confirm = () => makeList(container, 1)(key, undefined, signal)
          const { objects } = await attempt({ step: 'describe', signal }, confirm)
          return found === 'missing' ? objects.find((object) => object.key === key) : undefined
        }
        const { contentLength: sizeBytes = 0, etag, lastModified: modifiedAt } = found
        return { key, sizeBytes, etag: bareEtag(etag), modifiedAt }
      } catch (error) {
        if (error instanceof ObjectChanged) return undefined
        throw error
      }
    },

    async read({ key, etag }, start, end, signal) {
      if (end <= start) return new Uint8Array()
      return attempt({ step: 'read', key, signal }, async () => {
        const body = await download(container, key, etag, start, end - start, signal)
        const bytes = await firstBytes(addAbortSignal(signal, body), end - start)
        if (bytes === undefined) throw new Error('less than the object has')
        return bytes
      })
    },

    async open({ key, etag, sizeBytes }, signal) {
      const ask = (): Promise<Readable> => download(container, key, etag, 0, undefined, signal)
      return wholeObject(await attempt({ step: 'read', key, signal }, ask), sizeBytes, signal)
    },

    close() {
      closing.abort()
      agent.destroy()
    },
  }
}

function makeClient({ account, container }: ContainerLocation, agent: ReturnType<typeof egressAgent>): ContainerClient {
  const { endpoint, sharedKey, accessSignature } = account
  const credential = sharedKey
    ? new StorageSharedKeyCredential(sharedKey.accountName, sharedKey.accountKey)
    : new AnonymousCredential()
  const pipeline = newPipeline(credential, {
    httpClient: azureHttpClient(agent, endpoint, 'blobs'),
    retryOptions: { maxTries: 2, retryPolicyType: StorageRetryPolicyType.FIXED, retryDelayInMs: 200 },
  })
  const query = accessSignature === undefined ? '' : `?${accessSignature}`
  return new ContainerClient(`${endpoint}/${encodeURIComponent(container)}${query}`, pipeline)
}

/** Without retries of the client: the caller starts the read again. */
async function download(
  container: ContainerClient,
  key: string,
  etag: string,
  start: number,
  sizeBytes: number | undefined,
  abortSignal: AbortSignal,
): Promise<Readable> {
  if (hasDotSegment(key)) throw unaddressable(key)
  const ifMatch = quotedEtag(etag)
  const conditions = ifMatch === undefined ? {} : { ifMatch }
  const { readableStreamBody } = await container
    .getBlobClient(key)
    .download(start, sizeBytes, { abortSignal, conditions, maxRetryRequests: 0 })
  if (!readableStreamBody) throw new Error('no body')
  return readableStreamBody as Readable
}

/** In a URL, the name would resolve to another blob, possibly in another container. */
function unaddressable(key: string): ObjectUnavailable {
  return new ObjectUnavailable({
    step: 'read',
    code: 'not_set_up',
    reason: `the blob ${excerptOf(key, 200)} cannot be asked for, because of the . or .. between the slashes of its name`,
    remedy: 'give it another name, or use a pattern that leaves it out',
    field: 'path',
  })
}

interface ContinuationPoint {
  /** The last key of the page before. */
  after: string
  token: string
}

function makeList(container: ContainerClient, maxPageSize: number): ObjectStore['list'] {
  let known: { prefix: string; points: ContinuationPoint[] } = { prefix: '', points: [] }
  return async (prefix, after, abortSignal) => {
    if (known.prefix !== prefix) known = { prefix, points: [] }
    const { points } = known
    const start = after === undefined ? -1 : points.findLastIndex((point) => compareKeys(point.after, after) <= 0)
    // Lists only move forward: earlier tokens are not needed again.
    points.splice(0, start)
    let token = start < 0 ? undefined : points[0]?.token
    for (let emptyPages = 0; emptyPages <= maxEmptyPages; emptyPages++) {
      const options = { abortSignal, prefix, responseFormat: StorageResponseFormat.Xml }
      const { segment, continuationToken: next } = await loadPage(container, options, maxPageSize, token)
      const listed = segment.blobItems.map(({ name, properties }): StoredObject => {
        const { contentLength: sizeBytes = 0, etag, lastModified: modifiedAt } = properties
        return { key: name, sizeBytes, etag: bareEtag(etag), modifiedAt }
      })
      const last = listed.at(-1)?.key
      if (next && last !== undefined) remember(points, { after: last, token: next })
      const objects = listed.filter(({ key }) => after === undefined || compareKeys(key, after) > 0)
      if (objects.length > 0 || !next) return { objects, isLast: !next }
      token = next
    }
    throw new Error('a list without an end')
  }
}

/** Keeps tokens in the order of keys. */
function remember(points: ContinuationPoint[], point: ContinuationPoint): void {
  const last = points.at(-1)
  if (last === undefined || compareKeys(last.after, point.after) < 0) points.push(point)
}

type ListOptions = Parameters<ContainerClient['listBlobsFlat']>[0]

async function loadPage(
  container: ContainerClient,
  options: ListOptions,
  maxPageSize: number,
  token: string | undefined,
) {
  const pages = container.listBlobsFlat(options)
  const settings = { maxPageSize, ...(token !== undefined && { continuationToken: token }) }
  const { value, done } = await pages.byPage(settings).next()
  if (done || !value?.segment) throw new Error('not a list')
  return value
}
