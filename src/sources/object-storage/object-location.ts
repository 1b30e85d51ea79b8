// Location of the objects of a source, parsed from its `url` or from the connection string of an Azure account, without network
// access. An invalid location is a ProbeFailure.
import { asciiLowerCase } from '../../lib/ascii-case.ts'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import { type FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { SourceContext } from '../source.ts'
import { type AzureAccount, azureAccount } from './azure-account.ts'
import { maxRanges, maxWildcards, type ObjectPattern, PatternTooLarge, parsePattern } from './object-pattern.ts'

/** A bucket of a store that speaks S3. */
export interface BucketLocation {
  kind: 's3'
  /** Scheme, host and port of the store, without the bucket: `https://s3.eu-west-1.amazonaws.com`. */
  endpoint: string
  /** The bucket is the first part of the path; otherwise it is the first part of the host. */
  isPathStyle: boolean
  bucket: string
  pattern: ObjectPattern
  region: string
  /** The URL has no region: the store may return another one, which is then used. */
  isRegionGuessed: boolean
  /** The operator can set another endpoint only for Amazon; only Google decompresses objects unless asked not to. */
  vendor: 'amazon' | 'google' | 'other'
}

/** Endpoint for S3 that the operator has configured. */
export function operatorsEndpoint(
  vendor: BucketLocation['vendor'],
  { awsEndpoints }: SourceContext,
): string | undefined {
  return vendor === 'amazon' ? awsEndpoints.s3 : undefined
}

export interface ContainerLocation {
  kind: 'azure'
  account: AzureAccount
  container: string
  pattern: ObjectPattern
}

export type ObjectLocation = BucketLocation | ContainerLocation

const awsHost =
  /^(?:(.+)\.)?(s3(?:-fips|-accelerate)?(?:[.-](?:dualstack\.)?([a-z]{2,3}(?:-[a-z]+)+-\d+))?\.amazonaws\.com(?:\.cn)?)$/
const spacesHost = /^(?:(.+)\.)?([a-z]{3}\d+)\.(?:cdn\.)?digitaloceanspaces\.com$/
const googleHost = /^(?:(.+)\.)?storage\.googleapis\.com$/
const bucketName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?$/

type Parts = Pick<ObjectStorageSource, 'type' | 'url' | 'azureContainerName' | 'path' | 'authentication'>
type Secrets = Pick<SourceSecrets, 'connectionString'>

/** Throws a ProbeFailure of the step `connect`. */
export function locationOf(source: Parts, secrets: Secrets): ObjectLocation {
  if (source.type === 'azureblobstorage') return containerLocation(source, secrets)
  const [, scheme, authority, path] = /^([a-z0-9]+):\/\/([^/?#]+)\/?(.*)$/is.exec(source.url ?? '') ?? []
  const protocol = scheme?.toLowerCase() ?? ''
  const isKnown = ['s3', 'gs', 'http', 'https'].includes(protocol) && URL.canParse(`${protocol}://${authority}`)
  if (!isKnown || authority === undefined || path === undefined) {
    const remedy = 'write it as s3://bucket/key or https://host/bucket/key'
    throw invalidLocation('url', 'the url is not one of object storage', remedy)
  }
  return protocol === 's3' || protocol === 'gs'
    ? locationOfBucket(protocol === 'gs' ? 'gcs' : source.type, authority, path)
    : locationOfHost(`${protocol}://`, asciiLowerCase(authority), path)
}

function locationOfBucket(type: Parts['type'], bucket: string, path: string): BucketLocation {
  if (type === 'gcs') return google('https://', bucket, path)
  if (type === 'dospaces') {
    const remedy = 'write it as https://bucket.region.digitaloceanspaces.com/key'
    throw invalidLocation('url', `s3://${bucket} does not contain the region of the space`, remedy)
  }
  return amazon(`https://s3.us-east-1.amazonaws.com`, bucket, path, undefined)
}

function locationOfHost(scheme: string, authority: string, path: string): BucketLocation {
  const [host, port] = authority.split(/:(\d+)$/)
  const isDefaultPort = port === undefined || port === (scheme === 'https://' ? '443' : '80')
  const split = (bucketInHost: string | undefined): [bucket: string, path: string] =>
    bucketInHost === undefined ? bucketAndPath(path, authority) : [bucketInHost, path]
  const aws = isDefaultPort ? awsHost.exec(host!) : null
  if (aws) {
    // Global endpoints serve every region and return the region of the bucket.
    const isGlobal = aws[3] === undefined
    return amazon(isGlobal ? `${scheme}s3.us-east-1.amazonaws.com` : `${scheme}${aws[2]}`, ...split(aws[1]), aws[3])
  }
  const spaces = isDefaultPort ? spacesHost.exec(host!) : null
  if (spaces) {
    const [, bucketInHost, region] = spaces
    const endpoint = `${scheme}${region}.digitaloceanspaces.com`
    return bucketLocation(
      { endpoint, vendor: 'other', region: region!, isRegionGuessed: false },
      ...split(bucketInHost),
    )
  }
  const isGoogle = isDefaultPort ? googleHost.exec(host!) : null
  if (isGoogle) return google(scheme, ...split(isGoogle[1]))
  const guess = { region: 'us-east-1', isRegionGuessed: true } as const
  const location = bucketLocation({ endpoint: `${scheme}${authority}`, vendor: 'other', ...guess }, ...split(undefined))
  return { ...location, isPathStyle: true }
}

function bucketAndPath(path: string, host: string): [bucket: string, path: string] {
  const [, bucket, rest]: (string | undefined)[] = /^([^/?#*{]+)(?:\/(.*))?$/s.exec(path) ?? []
  if (bucket === undefined) {
    throw invalidLocation('url', `the url names no bucket at ${host}`, `write it as https://${host}/bucket/key`)
  }
  return [bucket, rest ?? '']
}

function amazon(endpoint: string, bucket: string, path: string, region: string | undefined): BucketLocation {
  const known = { region: region ?? 'us-east-1', isRegionGuessed: region === undefined }
  return bucketLocation({ endpoint, vendor: 'amazon', ...known }, bucket, path)
}

function google(scheme: string, bucket: string, path: string): BucketLocation {
  const endpoint = `${scheme}storage.googleapis.com`
  return bucketLocation({ endpoint, vendor: 'google', region: 'auto', isRegionGuessed: false }, bucket, path)
}

type Store = Pick<BucketLocation, 'endpoint' | 'vendor' | 'region' | 'isRegionGuessed'>

function bucketLocation(store: Store, bucket: string, path: string): BucketLocation {
  if (!bucketName.test(bucket)) {
    throw invalidLocation('url', 'the url names a bucket that cannot exist', 'check the name of the bucket')
  }
  // Certificates of the vendors are valid for one label before their host, so the name of the bucket must be a label.
  const isPathStyle = !/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(bucket) || bucket.length > 63
  return { kind: 's3', ...store, isPathStyle, bucket, pattern: patternOf(path, 'url') }
}

function containerLocation(source: Parts, { connectionString = '' }: Secrets): ContainerLocation {
  const container = source.azureContainerName ?? ''
  if (!/^(?:\$root|\$web|\$logs|(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*)$/.test(container)) {
    const reason = 'no container can have the name in azureContainerName'
    throw invalidLocation('azureContainerName', reason, 'use 3 to 63 lower-case letters, digits and single hyphens')
  }
  const pattern = patternOf(source.path ?? '', 'path')
  const account = azureAccount(connectionString, source.authentication === undefined)
  return { kind: 'azure', account, container, pattern }
}

function patternOf(text: string, field: 'url' | 'path'): ObjectPattern {
  try {
    return parsePattern(text, { isUrl: field === 'url' })
  } catch (error) {
    if (!(error instanceof PatternTooLarge)) throw error
    const reason = `the pattern has more than ${maxWildcards} wildcards and alternatives, or ${maxRanges} ranges of numbers`
    throw invalidLocation(field, reason, 'use a shorter pattern that takes the same objects', 'not_set_up')
  }
}

function invalidLocation(field: string, reason: string, remedy: string, code: FailureCode = 'not_found'): ProbeFailure {
  return new ProbeFailure({ step: 'connect', code, reason, remedy, field })
}
