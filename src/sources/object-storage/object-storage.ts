// Objects in S3, in what speaks like it, and in Azure: the probe of a source, and its reader. What the stores have in common is
// here; how to speak to them is in s3-store.ts and azure-blob-store.ts. `queueUrl` has no part in either.

import { EgressError } from '../../lib/egress.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import type { ObjectStorageSource } from '../../pipes/object-storage-source.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import { awsCredentials } from '../aws/aws.ts'
import { egressFailure } from '../failure.ts'
import { excerptOf } from '../formats/decode.ts'
import {
  ProbeFailure,
  type ProbeOptions,
  type ProbeResult,
  type ReadableSource,
  type SourceContext,
  type Surroundings,
} from '../source.ts'
import { openAzureStore } from './azure-blob-store.ts'
import { listMatching } from './object-listing.ts'
import { type ObjectPlace, operatorsEndpoint, placeOf } from './object-place.ts'
import { makeObjectReader } from './object-reader.ts'
import { maxSampledObjects, sampleObjects } from './object-sample.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { openS3Store } from './s3-store.ts'

const connectMs = 10_000
/** Of 1,000 objects each. Who has more that do not match can say more exactly which do. */
const maxPages = 10

export function makeObjectStorageSource(
  config: ObjectStorageSource,
  secrets: SourceSecrets,
  context: SourceContext,
): ReadableSource {
  const openStore = (place: ObjectPlace, surroundings: Surroundings): ObjectStore => {
    if (place.kind === 'azure') return openAzureStore(place, context, surroundings)
    const access = s3Access(config, secrets)
    const credentials = awsCredentials(
      { ...access, region: place.region, sessionName: place.bucket },
      context,
      surroundings,
    )
    const field = { IAM_USER: 'accessKey', IAM_ROLE: 'iamRole' }[access.authentication ?? 'IAM_USER']
    return openS3Store(place, { credentials, field }, context, surroundings)
  }

  return {
    async probe(options): Promise<ProbeResult> {
      const { signal, maxRecords, begin } = options
      begin('connect')
      const place = placeOf(config, secrets)
      await reach(place, context, options)
      const store = openStore(place, options)
      try {
        if (config.authentication !== undefined) begin('authenticate')
        const objects = await describe(store, place, config.isContinuous, signal)
        begin('describe')
        const { format, compression, delimiter } = config
        const decoding = { format, compression, ...(delimiter !== undefined && { delimiter }) }
        return { samples: [await sampleObjects(objects, { store, decoding, maxRecords, signal, begin })] }
      } finally {
        store.close()
      }
    },

    async open(positions, surroundings, selection = {}) {
      const place = placeOf(config, secrets)
      refusePlaintext(place, context)
      const store = openStore(place, surroundings)
      const { pattern } = place
      return makeObjectReader({
        store,
        pattern,
        isContinuous: config.isContinuous,
        positions,
        selection,
        signal: surroundings.signal,
      })
    },
  }
}

function s3Access({ authentication, iamRole, type }: ObjectStorageSource, { accessKey }: SourceSecrets) {
  if (authentication === 'IAM_ROLE' && type !== 's3') {
    const reason = `authentication IAM_ROLE is for Amazon's S3, not for ${type}`
    const remedy = 'send an access key with authentication IAM_USER'
    throw new ProbeFailure({ step: 'authenticate', code: 'not_set_up', reason, remedy, field: 'authentication' })
  }
  return { authentication: authentication === 'CONNECTION_STRING' ? undefined : authentication, accessKey, iamRole }
}

/** By a connection of its own: whether there is anything at the other end is then known before anything is said to it. */
async function reach(place: ObjectPlace, context: SourceContext, options: ProbeOptions): Promise<void> {
  const { egress, signal, begin } = options
  const { url, shown, field } = addressOf(place, context)
  const hasTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port || (hasTls ? 443 : 80))
  try {
    const limits = { timeoutMs: connectMs, signal }
    const socket = hasTls
      ? await egress.connectTls(host, port, { ...limits, tls: trustWith(context.caCertificates) })
      : await egress.connect(host, port, limits)
    socket.destroy()
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    if (error.failure === 'tls') begin('tls')
    throw notReached(egressFailure(error, shown, field))
  }
  if (hasTls) begin('tls')
  else refusePlaintext(place, context, begin)
}

/** An authority cannot be sent with this kind of source: the operator has those beyond what everyone trusts. */
function notReached(failure: ProbeFailure): ProbeFailure {
  if (failure.code !== 'certificate_untrusted') return failure
  const remedy = 'use a certificate that everyone trusts, or have the operator of Penstock add its authority'
  return new ProbeFailure({ ...failure, remedy })
}

interface Address {
  url: URL
  /** As the user knows it. */
  shown: string
  field: string
  /** The operator has put it there. */
  isOperators: boolean
}

function addressOf(place: ObjectPlace, context: SourceContext): Address {
  if (place.kind === 'azure') {
    const url = new URL(place.account.endpoint)
    return { url, shown: url.host, field: 'connectionString', isOperators: false }
  }
  const { endpoint, bucket, isPathStyle, vendor } = place
  const url = new URL(endpoint)
  if (!isPathStyle) url.hostname = `${bucket}.${url.hostname}`
  const elsewhere = operatorsEndpoint(vendor, context)
  const isOperators = elsewhere !== undefined
  return { url: isOperators ? new URL(elsewhere) : url, shown: url.host, field: 'url', isOperators }
}

function refusePlaintext(place: ObjectPlace, context: SourceContext, begin?: ProbeOptions['begin']): void {
  const { url, shown, field, isOperators } = addressOf(place, context)
  if (url.protocol === 'https:' || isOperators || context.allowPlaintext) return
  begin?.('tls')
  throw new ProbeFailure({
    step: 'tls',
    code: 'tls_refused',
    reason: `the address of ${shown} begins with http://, so that data and keys would cross the network in the clear`,
    remedy: 'use https://, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true',
    field,
  })
}

/** The first objects that the pattern takes. */
async function describe(
  store: ObjectStore,
  place: ObjectPlace,
  isContinuous: boolean,
  signal: AbortSignal,
): Promise<StoredObject[]> {
  let after: string | undefined
  let hasEmpty = false
  for (let page = 1; page <= maxPages; page++) {
    const found = await listMatching(store, place.pattern, after, signal)
    if (found.matches.length > 0) return found.matches.slice(0, maxSampledObjects)
    hasEmpty ||= found.hasEmpty
    if (found.isLast) {
      // Objects without a byte are there, and have no records; others may come yet.
      if (hasEmpty || isContinuous) return []
      throw nothingMatches(place, 'no object')
    }
    after = found.last
  }
  throw nothingMatches(place, `none of the first ${(maxPages * 1000).toLocaleString('en')} objects`)
}

function nothingMatches(place: ObjectPlace, objects: string): ProbeFailure {
  const { pattern } = place
  const where = place.kind === 'azure' ? `the container "${place.container}"` : `the bucket "${place.bucket}"`
  const reason = `${objects} in ${where} that begins with ${told(pattern.prefix)} matches ${told(pattern.text)}`
  return new ProbeFailure({
    step: 'describe',
    code: 'not_found',
    reason: pattern.isLiteral ? `${where} has no object ${told(pattern.text)}` : reason,
    remedy: 'check the spelling, upper and lower case, and what the wildcards stand for',
    field: place.kind === 'azure' ? 'path' : 'url',
  })
}

function told(text: string): string {
  return excerptOf(text, 200)
}
