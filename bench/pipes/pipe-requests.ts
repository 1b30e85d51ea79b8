// API requests of the benchmark: services for its engines, and a pipe for each kind of source.
import type { EngineServer } from '../../test/real/servers/engine.ts'
import type { Feed, KafkaFeed, ObjectFeed } from './feeds.ts'
import type { KinesisFeed } from './kinesis-feed.ts'
import { columns, sortingKey } from './orders.ts'
import type { PostgresFeed } from './postgres-feed.ts'
import type { QueueFeed } from './queue-feed.ts'

export interface TableRef {
  database: string
  table: string
}

export function serviceOf({ name, url, user }: EngineServer): object {
  return { name, provider: 'aws', region: 'eu-west-1', endpoint: { url, ...user } }
}

export function pipeOf(feed: Feed, { database, table }: TableRef): object {
  if (feed.kind === 'postgres') {
    return { name: table, source: { postgres: postgresSource(feed, table) }, destination: { database } }
  }
  return {
    name: table,
    source: sourceOf(feed),
    destination: {
      database,
      table,
      columns,
      tableDefinition: { engine: { type: 'MergeTree' }, sortingKey },
    },
    // The last rows of a stream wait for a full batch: the default of 5 s would be most of the measured time.
    settings: { streaming_max_insert_wait_ms: 500 },
  }
}

function sourceOf(feed: Exclude<Feed, PostgresFeed>): object {
  if (feed.kind === 'kafka') return { kafka: kafkaSource(feed) }
  if (feed.kind === 'kinesis') return { kinesis: kinesisSource(feed) }
  if (feed.kind === 'queue') return { objectStorage: { ...objectSource(feed), ...followed(feed) } }
  return { objectStorage: objectSource(feed) }
}

/** The queue announces all objects; the bucket is not listed. */
function followed({ queueUrl }: QueueFeed): object {
  return { isContinuous: true, queueUrl, skipInitialLoad: true }
}

function kafkaSource({ broker, username, password, topic }: KafkaFeed): object {
  return {
    type: 'kafka',
    format: 'JSONEachRow',
    brokers: broker,
    topics: topic,
    authentication: 'PLAIN',
    credentials: { username, password },
    offset: { strategy: 'from_beginning' },
  }
}

function objectSource({ endpoint, bucket, accessKeyId, secretKey }: ObjectFeed | QueueFeed): object {
  return {
    type: 's3',
    format: 'JSONEachRow',
    url: `${endpoint}/${bucket}/orders/*.json`,
    authentication: 'IAM_USER',
    accessKey: { accessKeyId, secretKey },
  }
}

function kinesisSource({ region, stream, accessKeyId, secretKey }: KinesisFeed): object {
  return {
    format: 'JSONEachRow',
    iteratorType: 'TRIM_HORIZON',
    region,
    streamName: stream,
    authentication: 'IAM_USER',
    accessKey: { accessKeyId, secretKey },
  }
}

/** The promise is for 1 s; the default is one minute. */
export const syncIntervalSeconds = 1

function postgresSource(feed: PostgresFeed, targetTable: string): object {
  const { host, port, database, username, password, table } = feed
  return {
    host,
    port,
    database,
    credentials: { username, password },
    settings: { syncIntervalSeconds },
    tableMappings: [{ sourceSchemaName: 'public', sourceTable: table, targetTable }],
  }
}
