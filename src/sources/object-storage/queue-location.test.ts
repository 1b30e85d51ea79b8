import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { queueLocationOf, regionOfHost } from './queue-location.ts'

const location = { kind: 'azure' } as Parameters<typeof queueLocationOf>[1]

describe('the location of a queue', () => {
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
    it(`has the region ${region ?? 'undefined'} for ${host}`, () => assert.equal(regionOfHost(host!), region))
  }

  it('is parsed without query and fragment', () => {
    assert.deepEqual(queueLocationOf('https://Me.queue.core.windows.net/new-objects/?x=1#y', location), {
      url: 'https://me.queue.core.windows.net/new-objects',
      endpoint: 'https://me.queue.core.windows.net',
      host: 'me.queue.core.windows.net',
      name: 'new-objects',
    })
  })

  it('is rejected when the URL is invalid', () => {
    for (const wrong of ['', 'queue', 'https://host', 'https://host/', 'https://host/a%20b', 'ftp://host/queue']) {
      assert.throws(() => queueLocationOf(wrong, location), {
        name: 'ProbeFailure',
        field: 'queueUrl',
        step: 'connect',
      })
    }
  })
})
