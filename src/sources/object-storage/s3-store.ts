// Object store with the S3 API: Amazon, Google or compatible. All options of the client are set explicitly, so that it never uses
// endpoints or credentials of the environment of this process. Public buckets are read with unsigned requests.
import { addAbortSignal, type Readable } from 'node:stream'
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  S3Client,
} from '@aws-sdk/client-s3'
import type { AwsCredentials } from '../aws/aws.ts'
import { readAwsError } from '../aws/aws-error.ts'
import { awsClientDefaults, awsEndpoint, awsRequestHandler } from '../aws/aws-http.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { type BucketLocation, operatorsEndpoint } from './object-location.ts'
import {
  bareEtag,
  maxEmptyPages,
  maxKeyBytes,
  ObjectChanged,
  type ObjectPage,
  type ObjectStore,
  quotedEtag,
  type StoredObject,
} from './object-store.ts'
import { listAttempt, readAttempt, type S3Attempt, s3Failure } from './s3-failure.ts'
import { firstBytes, wholeObject } from './whole-object.ts'

export interface S3Access {
  /** Undefined: unsigned requests. */
  credentials: AwsCredentials | undefined
  /** The field of the source that they came in. */
  field: string
}

export function openS3Store(
  location: BucketLocation,
  access: S3Access,
  context: SourceContext,
  options: SourceAccess,
): ObjectStore {
  const { bucket: Bucket } = location
  const handler = awsRequestHandler(options, context, ({ query }) =>
    query?.['x-id'] === 'GetObject' ? 'object' : 'xml',
  )
  let at = location
  let client = makeClient(at, access, context, handler)

  /** Some stores return their region only in the body of an error, which an answer to HEAD does not have. */
  const withRegion = async (
    client: S3Client,
    Key: string,
    abortSignal: AbortSignal,
    bare: unknown,
  ): Promise<unknown> => {
    try {
      const command = new GetObjectCommand({ Bucket, Key, Range: 'bytes=0-0' })
      const { Body } = await client.send(command, { abortSignal })
      ;(Body as Readable).destroy()
      return bare
    } catch (error) {
      return readAwsError(error).region === undefined ? bare : error
    }
  }

  /** Retries in the region that the store returns, if the URL has no region. */
  const send = async <Output>(
    attempt: S3Attempt,
    signal: AbortSignal,
    ask: (client: S3Client) => Promise<Output>,
  ): Promise<Output> => {
    const asked = at
    try {
      return await ask(client)
    } catch (error) {
      const failure = s3Failure(error, attempt, signal)
      const { region, status } = readAwsError(error)
      // Of concurrent requests, the first one changes the region; answers to the others may lack it.
      const hasMoved = at !== asked
      const hasRegion = region !== undefined && region !== asked.region
      const mayMove = asked.isRegionGuessed && (hasMoved || hasRegion)
      // An answer without a body has no error code.
      const isBare = attempt.mayBeBare === true && status === 400
      const isElsewhere = isBare || (!(failure instanceof ObjectChanged) && failure.code === 'wrong_region')
      if (!mayMove || !isElsewhere) throw failure
      if (hasRegion && !hasMoved) {
        const endpoint = at.vendor === 'amazon' && { endpoint: awsEndpoint('s3', region) }
        at = { ...at, region, isRegionGuessed: false, ...endpoint }
        client = makeClient(at, access, context, handler)
      }
    }
    try {
      return await ask(client)
    } catch (error) {
      throw s3Failure(error, attempt, signal)
    }
  }

  const list = async (
    prefix: string,
    { after, MaxKeys }: { after: string | undefined; MaxKeys: number },
    abortSignal: AbortSignal,
  ): Promise<ObjectPage> => {
    const attempt = listAttempt(location, access)
    let next: { StartAfter?: string; ContinuationToken?: string } = after === undefined ? {} : { StartAfter: after }
    // Some stores return empty pages for deleted objects.
    for (let emptyPages = 0; ; emptyPages++) {
      const page = await send(attempt, abortSignal, async (client) => {
        const command = new ListObjectsV2Command({
          Bucket,
          MaxKeys,
          // Keys may have characters that are invalid in XML.
          EncodingType: 'url',
          ...(prefix !== '' && { Prefix: prefix }),
          ...next,
        })
        const read = pageOf(await client.send(command, { abortSignal }))
        if (read.next !== undefined && emptyPages >= maxEmptyPages) throw new Error('a list without an end')
        return read
      })
      if (page.next === undefined) return page
      next = { ContinuationToken: page.next }
    }
  }

  return {
    list: (prefix, after, signal) => list(prefix, { after, MaxKeys: 1_000 }, signal),

    async find(key, abortSignal) {
      if (Buffer.byteLength(key) > maxKeyBytes) return undefined
      const attempt = { ...readAttempt(location, access, key), step: 'describe' as const, mayBeBare: true }
      let status: number | undefined
      try {
        const head = await send(attempt, abortSignal, (client) =>
          client.send(new HeadObjectCommand({ Bucket, Key: key }), { abortSignal }).catch(async (error: unknown) => {
            const answer = readAwsError(error)
            status = answer.status
            if (status !== 400 || answer.region !== undefined || !at.isRegionGuessed) throw error
            throw await withRegion(client, key, abortSignal, error)
          }),
        )
        const { ContentLength: sizeBytes = 0, ETag, LastModified: modifiedAt } = head
        return { key, sizeBytes, etag: bareEtag(ETag), modifiedAt }
      } catch (error) {
        if (!(error instanceof ObjectChanged)) throw error
        // Errors of a list have codes: this request fails when more than this object is affected.
        const { objects } = await list(key, { after: undefined, MaxKeys: 1 }, abortSignal)
        return status === 404 ? objects.find((object) => object.key === key) : undefined
      }
    },

    async read({ key, etag }, start, end, abortSignal) {
      if (end <= start) return new Uint8Array()
      return send(readAttempt(location, access, key), abortSignal, async (client) => {
        const command = new GetObjectCommand({ Bucket, Key: key, Range: `bytes=${start}-${end - 1}`, ...ifMatch(etag) })
        const { Body, ContentRange } = await client.send(command, { abortSignal })
        const body = addAbortSignal(abortSignal, Body as Readable)
        // Some stores ignore Range and return the whole object; only its start can be used.
        if (ContentRange === undefined && start > 0) {
          body.destroy()
          throw new Error('no part of an object')
        }
        const bytes = await firstBytes(body, end - start)
        if (bytes === undefined) throw new Error('less than the object has')
        return bytes
      })
    },

    async open({ key, etag, sizeBytes }, abortSignal) {
      const { Body } = await send(readAttempt(location, access, key), abortSignal, (client) =>
        client.send(new GetObjectCommand({ Bucket, Key: key, ...ifMatch(etag) }), { abortSignal }),
      )
      return wholeObject(Body as Readable, sizeBytes, abortSignal)
    },

    close: () => handler.destroy(),
  }
}

/** `next` is set when the page is empty and not the last. */
function pageOf(list: ListObjectsV2CommandOutput): ObjectPage & { next?: string } {
  const { Name, IsTruncated, Contents = [], EncodingType, NextContinuationToken: next } = list
  // The client parses any successful answer as an empty list.
  if (Name === undefined && IsTruncated === undefined) throw new Error('not a list')
  const keyOf = (key: string): string => (EncodingType === 'url' ? decodedKey(key) : key)
  const objects = Contents.flatMap(({ Key, Size = 0, ETag, LastModified }): StoredObject[] =>
    Key === undefined ? [] : [{ key: keyOf(Key), sizeBytes: Size, etag: bareEtag(ETag), modifiedAt: LastModified }],
  )
  const isLast = IsTruncated !== true
  if (isLast || objects.length > 0) return { objects, isLast }
  if (!next) throw new Error('nothing to go on with')
  return { objects, isLast, next }
}

function ifMatch(etag: string): { IfMatch?: string } {
  const quoted = quotedEtag(etag)
  return quoted === undefined ? {} : { IfMatch: quoted }
}

function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return key
  }
}

const anonymous = async () => ({ accessKeyId: 'nobody', secretAccessKey: 'nothing' })

function makeClient(
  { endpoint, region, isPathStyle, vendor }: BucketLocation,
  { credentials }: S3Access,
  context: SourceContext,
  requestHandler: ReturnType<typeof awsRequestHandler>,
): S3Client {
  const endpointOverride = operatorsEndpoint(vendor, context)
  const client = new S3Client({
    region,
    endpoint: endpointOverride ?? endpoint,
    forcePathStyle: isPathStyle || endpointOverride !== undefined,
    // Without credentials, the client would use those of the environment.
    credentials: credentials ?? anonymous,
    ...(credentials === undefined && { signer: { sign: async (request) => request } }),
    requestHandler,
    ...awsClientDefaults,
    // Other stores do not support the newer checksums of Amazon.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    followRegionRedirects: false,
    defaultsMode: 'standard',
    useAccelerateEndpoint: false,
    useArnRegion: false,
    disableMultiregionAccessPoints: true,
    disableS3ExpressSessionAuth: true,
  })
  if (vendor === 'google') takeAsStored(client)
  return client
}

/** Google decompresses gzip objects without Accept-Encoding, and modifies that header, so it must not be signed. */
function takeAsStored(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> }
      headers['accept-encoding'] = 'gzip'
      return next(args)
    },
    // The last step before the request is sent.
    { step: 'deserialize', priority: 'low', name: 'takeAsStored' },
  )
}
