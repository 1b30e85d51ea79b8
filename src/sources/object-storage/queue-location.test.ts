import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { queueLocationOf, regionOfHost } from './queue-location.ts'

const place = { kind: 'azure' } as Parameters<typeof queueLocationOf>[1]

describe('where a queue is', () => {
  for (const [host, region] of [
    ['sqs.eu-west-1.amazonaws.com', 'eu-west-1'],
    ['sqs.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ['sqs-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    ['sqs.us-east-2.api.aws', 'us-east-2'],
    ['eu-central-1.queue.amazonaws.com', 'eu-central-1'],
    ['vpce-0a1b-2c3d.sqs.us-east-1.vpce.amazonaws.com', 'us-east-1'],
    ['sqs.eu-west-1.amazonaws.com.example.org', undefined],
    ['queue.example.org', undefined],
    ['127.0.0.1:9324', undefined],
  ]) {
    it(`is ${region ?? 'not told'} of ${host}`, () => assert.equal(regionOfHost(host!), region))
  }

  it('is read without what does not name it', () => {
    assert.deepEqual(queueLocationOf('https://Me.queue.core.windows.net/new-objects/?x=1#y', place), {
      url: 'https://me.queue.core.windows.net/new-objects',
      endpoint: 'https://me.queue.core.windows.net',
      host: 'me.queue.core.windows.net',
      name: 'new-objects',
    })
  })

  it('is told when it is nowhere', () => {
    for (const wrong of ['', 'queue', 'https://host', 'https://host/', 'https://host/a%20b', 'ftp://host/queue']) {
      assert.throws(() => queueLocationOf(wrong, place), { name: 'ProbeFailure', field: 'queueUrl', step: 'connect' })
    }
  })
})
