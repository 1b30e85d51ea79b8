// Creates Kinesis sources for any test server, with the access key that startKinesis accepts.
import type { KinesisSource } from '../../src/source-shapes/kinesis-source.ts'
import { makeKinesisSource } from '../../src/sources/kinesis/kinesis.ts'
import type { ReadableSource, SourceContext } from '../../src/sources/source.ts'

export const accessKey = { accessKeyId: 'AKIAREADER0000000000', secretKey: 'reader-secret/+0123456789' }
export const secrets = [accessKey.secretKey, accessKey.accessKeyId]

export const kinesisConfig: KinesisSource = {
  authentication: 'IAM_USER',
  format: 'JSONEachRow',
  iteratorType: 'TRIM_HORIZON',
  region: 'eu-west-1',
  streamName: 'clicks',
}

export function kinesisContext(kinesis: string | undefined, ca?: string): SourceContext {
  const awsEndpoints = kinesis === undefined ? {} : { kinesis }
  return { organizationId: 'an-organization', caCertificates: ca, allowPlaintext: false, awsEndpoints }
}

export function sourceAt(
  kinesis: string | undefined,
  config: Partial<KinesisSource> = {},
  ca?: string,
): ReadableSource {
  return makeKinesisSource({ ...kinesisConfig, ...config }, { accessKey }, kinesisContext(kinesis, ca))
}
