import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { claimOf, type SignedRequest, signatureFor } from '../../../test/sources/signature-v4.ts'
import { mskToken, regionOfBroker } from './msk-token.ts'

const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const nowMs = Date.parse('2026-01-31T12:00:00Z')

const urlIn = (token: string): URL => new URL(Buffer.from(token, 'base64url').toString())

describe('a token of MSK', () => {
  it('is a request to the region, presigned for 15 minutes', () => {
    const token = mskToken({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey }, 'eu-west-1', nowMs)
    assert.match(token, /^[A-Za-z0-9_-]+$/)
    const { protocol, hostname, pathname, searchParams } = urlIn(token)
    assert.deepEqual([protocol, hostname, pathname], ['https:', 'kafka.eu-west-1.amazonaws.com', '/'])
    assert.deepEqual(Object.fromEntries(searchParams), {
      Action: 'kafka-cluster:Connect',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20260131/eu-west-1/kafka-cluster/aws4_request',
      'X-Amz-Date': '20260131T120000Z',
      'X-Amz-Expires': '900',
      'X-Amz-SignedHeaders': 'host',
      // Computed with the signer of the AWS SDK.
      'X-Amz-Signature': 'cf1b2335f8c1c54e4a53e699d99be7c96a68431620da9625e38b66c2054264da',
      'User-Agent': 'penstock',
    })
  })

  it('signs the session token as well', () => {
    const sessionToken = "to/ken+with=odd'chars*()!"
    const token = mskToken({ accessKeyId: 'ASIDEXAMPLE', secretAccessKey, sessionToken }, 'eu-west-1', nowMs)
    const { searchParams } = urlIn(token)
    assert.equal(searchParams.get('X-Amz-Security-Token'), sessionToken)
    assert.equal(
      searchParams.get('X-Amz-Signature'),
      '37154d9b938a9ab386d3aafe15c411c9850e4a1fddaaa165a6423ddce801075f',
    )
  })

  it('has the signature that AWS computes, and only with the right secret', () => {
    for (const sessionToken of [undefined, 'a/session+token==']) {
      const identity = { accessKeyId: 'ASIDEXAMPLE', secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
      const url = urlIn(mskToken(identity, 'us-gov-west-1'))
      const request: SignedRequest = {
        method: 'GET',
        // Parameters after the signature are not signed.
        target: `${url.pathname}${url.search}`.replace('&User-Agent=penstock', ''),
        headers: { host: url.host },
        body: new Uint8Array(),
      }
      const claim = claimOf(request)
      assert.ok(claim)
      assert.equal(claim.sessionToken, sessionToken)
      assert.equal(claim.signature, signatureFor(request, claim, secretAccessKey))
      assert.notEqual(claim.signature, signatureFor(request, claim, 'another secret'))
    }
  })
})

describe('the region of a broker', () => {
  for (const [host, region] of [
    ['b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com', 'eu-west-1'],
    ['b-1-public.demo.abc123.c2.kafka.us-east-2.amazonaws.com', 'us-east-2'],
    ['boot-abc123.c1.kafka-serverless.ap-southeast-2.amazonaws.com', 'ap-southeast-2'],
    ['B-1.demo.abc123.c2.KAFKA.us-gov-west-1.amazonaws.com.', 'us-gov-west-1'],
    ['b-1.demo.abc123.c2.kafka.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ['kafka.example.com', undefined],
    ['b-1.kafka.eu-west-1.amazonaws.com.evil.example', undefined],
    ['kafka.eu-west-1.amazonaws.community', undefined],
    ['10.0.0.1', undefined],
  ] as const) {
    it(`${host}: ${region ?? 'not known'}`, () => assert.equal(regionOfBroker(host), region))
  }
})
