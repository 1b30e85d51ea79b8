// Amazon Kinesis Data Streams as a source. With `useEnhancedFanOut`, readers use a registered consumer. Records are the same either
// way, so samples are always polled.

import { decompress } from '../../formats/decode/compressed-record.ts'
import { decodeRecords, toSample } from '../../formats/decode/decode.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import type { Sample } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { ReadableSource, SourceContext } from '../source.ts'
import { makeKinesis } from './kinesis-client.ts'
import { streamFailure } from './kinesis-failure.ts'
import { openKinesisReader } from './kinesis-reader.ts'
import { type SampledRecord, sampleStream } from './kinesis-sample.ts'

/** Limit for all records of a sample. */
const maxDecompressedBytes = 64 * 1_024 * 1_024

export function makeKinesisSource(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
): ReadableSource {
  return {
    async probe(options) {
      const { begin } = options
      const kinesis = makeKinesis(config, secrets, context, options)
      try {
        await kinesis.reach(begin)
        begin('authenticate')
        await kinesis.loadCredentials()
        begin('describe')
        const shards = await kinesis.listShards('describe')
        begin('read')
        const records = await sampleStream(kinesis, shards, config, options)
        begin('decode')
        return { samples: [await decode(config, records, options.maxRecords)] }
      } finally {
        kinesis.close()
      }
    },

    async open(positions, connectOptions, selection = {}) {
      // Fails here and not at the first record.
      if (config.format === 'AvroConfluent') throw streamFailure('registryMissing', {})
      return openKinesisReader(config, secrets, context, positions, connectOptions, { selection })
    },
  }
}

async function decode(
  { format, streamName }: KinesisSource,
  records: SampledRecord[],
  maxRows: number,
): Promise<Sample> {
  if (format === 'AvroConfluent') throw streamFailure('registryMissing', {})
  const values = decompressAll(records)
  try {
    return await toSample(await decodeRecords(format, values, { registry: undefined, maxRows }))
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error
    throw undecodable(`records of the stream "${streamName}" are not ${format}: ${error.reason}`)
  }
}

/** As many as the limit allows. */
function decompressAll(records: SampledRecord[]): Uint8Array[] {
  const values: Uint8Array[] = []
  let leftBytes = maxDecompressedBytes
  for (const record of records) {
    const value = decompressRecord(record, leftBytes)
    if (value === 'too large' || value.length > leftBytes) break
    values.push(value)
    leftBytes -= value.length
  }
  const [first] = records
  if (!first || values.length > 0) return values
  throw undecodable(
    `the record ${first.sequence} of ${first.shard} is larger than 64 MiB when it is decompressed`,
    'write smaller records to the stream',
  )
}

/** Magic number of records aggregated by the Kinesis Producer Library. */
const aggregated = Buffer.from('f3899ac2', 'hex')

function decompressRecord({ data, shard, sequence }: SampledRecord, maxBytes: number): Uint8Array | 'too large' {
  if (aggregated.equals(data.subarray(0, aggregated.length))) {
    throw undecodable(
      `the record ${sequence} of ${shard} is an aggregated record of the Kinesis Producer Library`,
      'turn the aggregation of the Kinesis Producer Library off (AggregationEnabled)',
    )
  }
  const value = decompress(data, maxBytes)
  if (typeof value === 'object' && 'broken' in value) {
    throw undecodable(`the record ${sequence} of ${shard} begins as ${value.broken} does, but cannot be decompressed`)
  }
  return value
}

const lookAtFormat = 'set format to what the records are, or look at what is written to the stream'

function undecodable(reason: string, remedy = lookAtFormat): ProbeFailure {
  return new ProbeFailure({ step: 'decode', code: 'undecodable', reason, remedy, field: 'format' })
}
