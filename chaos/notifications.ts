// Queue messages besides plain S3 events: EventBridge events, and messages that announce no new object.
import { randomUUID } from 'node:crypto'
import { s3Record } from '../test/sources/queue-server.ts'
import type { StoredObject } from './bare-servers.ts'

/** EventBridge does not URL-encode keys. */
export function busEvent(bucket: string, { key, etag, sizeBytes }: StoredObject): string {
  return JSON.stringify({
    version: '0',
    id: randomUUID(),
    'detail-type': 'Object Created',
    source: 'aws.s3',
    account: '000000000000',
    time: new Date().toISOString(),
    region: 'us-east-1',
    resources: [`arn:aws:s3:::${bucket}`],
    detail: { version: '0', bucket: { name: bucket }, object: { key, size: sizeBytes, etag }, reason: 'PutObject' },
  })
}

export function removal(bucket: string, object: StoredObject): string {
  return JSON.stringify({ Records: [s3Record(bucket, object, 'ObjectRemoved:Delete')] })
}

/** Message that S3 sends when notifications to the queue are configured. */
export function testEvent(bucket: string): string {
  return JSON.stringify({ Service: 'Amazon S3', Event: 's3:TestEvent', Time: new Date().toISOString(), Bucket: bucket })
}
