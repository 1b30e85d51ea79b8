// A container of blobs at Azure, or of something that speaks as Azure does. Lists go on by marks that only the service can read.
// They are kept: without one, a list begins with the first blob, however far we are.
import { addAbortSignal, type Readable } from 'node:stream'
import {
  AnonymousCredential,
  ContainerClient,
  newPipeline,
  StorageResponseFormat,
  StorageRetryPolicyType,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { excerptOf } from '../../formats/decode/decode.ts'
import { egressAgent } from '../../lib/egress-http.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import type { SourceContext, SourceAccess } from '../source.ts'
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
/** Most that the name of a blob may have. */
const maxNameCharacters = 1_024
const maxListed = 1_000

export function openAzureStore(
  place: ContainerLocation,
  context: SourceContext,
  surroundings: SourceAccess,
): ObjectStore {
  const closing = new AbortController()
  const agent = egressAgent(surroundings.egress, place.account.endpoint.startsWith('https:') ? 'https' : 'http', {
    timeoutMs: connectMs,
    signal: AbortSignal.any([surroundings.signal, closing.signal]),
    tls: trustWith(context.caCertificates),
    // Each object that is being read holds one, and as many may be read at once as a pipe can be told to.
  })
  const container = makeClient(place, agent)
  const list = makeList(container, maxListed)

  const attempt = async <Result>(
    { step, key, signal }: Pick<AzureAttempt, 'step' | 'signal'> & { key?: string },
    ask: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await ask()
    } catch (error) {
      const about: AzureTarget = key === undefined ? { kind: 'container', place } : { kind: 'blob', place, key }
      throw azureFailure(error, { step, about, signal })
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
          // Its errors have names: what is wrong with more than this blob shows.
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

/** No bytes are asked for twice: whoever reads begins anew. */
async function download(
  container: ContainerClient,
  key: string,
  etag: string,
  start: number,
  sizeBytes: number | undefined,
  abortSignal: AbortSignal,
): Promise<Readable> {
  if (hasDotSegment(key)) throw unspeakable(key)
  const ifMatch = quotedEtag(etag)
  const conditions = ifMatch === undefined ? {} : { ifMatch }
  const { readableStreamBody } = await container
    .getBlobClient(key)
    .download(start, sizeBytes, { abortSignal, conditions, maxRetryRequests: 0 })
  if (!readableStreamBody) throw new Error('no body')
  return readableStreamBody as Readable
}

/** Whoever asks for it by its name asks for another blob, maybe of another container. */
function unspeakable(key: string): ObjectUnavailable {
  return new ObjectUnavailable({
    step: 'read',
    code: 'not_set_up',
    reason: `the blob ${excerptOf(key, 200)} cannot be asked for, because of the . or .. between the slashes of its name`,
    remedy: 'give it another name, or use a pattern that leaves it out',
    field: 'path',
  })
}

interface Mark {
  /** The last key before it. */
  after: string
  text: string
}

function makeList(container: ContainerClient, maxPageSize: number): ObjectStore['list'] {
  let known: { prefix: string; marks: Mark[] } = { prefix: '', marks: [] }
  return async (prefix, after, abortSignal) => {
    if (known.prefix !== prefix) known = { prefix, marks: [] }
    const { marks } = known
    const start = after === undefined ? -1 : marks.findLastIndex((mark) => compareKeys(mark.after, after) <= 0)
    // Whoever lists goes forward: nobody will ask for what is before this mark.
    marks.splice(0, start)
    let mark = start < 0 ? undefined : marks[0]?.text
    for (let emptyPages = 0; emptyPages <= maxEmptyPages; emptyPages++) {
      const options = { abortSignal, prefix, responseFormat: StorageResponseFormat.Xml }
      const { segment, continuationToken: next } = await loadPage(container, options, maxPageSize, mark)
      const listed = segment.blobItems.map(({ name, properties }): StoredObject => {
        const { contentLength: sizeBytes = 0, etag, lastModified: modifiedAt } = properties
        return { key: name, sizeBytes, etag: bareEtag(etag), modifiedAt }
      })
      const last = listed.at(-1)?.key
      if (next && last !== undefined) remember(marks, { after: last, text: next })
      const objects = listed.filter(({ key }) => after === undefined || compareKeys(key, after) > 0)
      if (objects.length > 0 || !next) return { objects, isLast: !next }
      mark = next
    }
    throw new Error('a list without an end')
  }
}

/** In their order. */
function remember(marks: Mark[], mark: Mark): void {
  const last = marks.at(-1)
  if (last === undefined || compareKeys(last.after, mark.after) < 0) marks.push(mark)
}

type ListOptions = Parameters<ContainerClient['listBlobsFlat']>[0]

async function loadPage(
  container: ContainerClient,
  options: ListOptions,
  maxPageSize: number,
  mark: string | undefined,
) {
  const pages = container.listBlobsFlat(options)
  const settings = { maxPageSize, ...(mark !== undefined && { continuationToken: mark }) }
  const { value, done } = await pages.byPage(settings).next()
  if (done || !value?.segment) throw new Error('not a list')
  return value
}
