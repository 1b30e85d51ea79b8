import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { KinesisClient, ListShardsCommand } from '@aws-sdk/client-kinesis'
import { type Certificates, makeCertificates } from '../../../test/sources/certificates.ts'
import { loopbackEgress, strictEgress } from '../../../test/sources/conformance.ts'
import { closedPort, startTls } from '../../../test/sources/odd-servers.ts'
import { withOperator } from '../../../test/sources/operator.ts'
import { type CheckedKey, type SignatureCheck, startSignatureCheck } from '../../../test/sources/signature-check.ts'
import { type StsServer, startSts } from '../../../test/sources/sts-server.ts'
import type { Egress } from '../../lib/egress.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { type FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceContext } from '../source.ts'
import { type AwsAccess, type AwsCredentials, awsCredentials } from './aws.ts'
import { type AwsAttempt, awsFailure } from './aws-failure.ts'
import { awsClientDefaults, awsEndpoint, awsRequestHandler } from './aws-http.ts'

const region = 'eu-west-1'
const roleArn = 'arn:aws:iam::123456789012:role/penstock'
const organizationId = 'the-organization'
const operator = { accessKeyId: 'AKIAOPERATOR00000000', secretKey: 'operator-secret/+01234567' }
const signal = (): AbortSignal => AbortSignal.timeout(10_000)

describe('the credentials of a source', () => {
  const keys: CheckedKey[] = []
  let sts: StsServer
  let proxy: SignatureCheck
  const startWith = async (lifetimeMs: number): Promise<{ server: StsServer; check: SignatureCheck }> => {
    const server = await startSts({ roleArn, externalId: organizationId, keys, lifetimeMs })
    const operatorKeys = [{ ...operator, mayRead: true }]
    const check = await startSignatureCheck({ service: 'sts', region, target: server.url, keys: operatorKeys })
    return { server, check }
  }
  before(async () => {
    ;({ server: sts, check: proxy } = await startWith(3_600_000))
  })
  after(async () => {
    await proxy.stop()
    await sts.stop()
  })

  const contextWith = (endpoint: string): SourceContext => ({
    organizationId,
    caCertificates: undefined,
    allowPlaintext: false,
    awsEndpoints: { sts: endpoint },
  })
  const roleAccess = { authentication: 'IAM_ROLE', accessKey: undefined, iamRole: roleArn, region } as const
  const roleAt = (
    endpoint = proxy.url,
    access: Partial<AwsAccess> = {},
    egress: Egress = loopbackEgress,
  ): AwsCredentials =>
    awsCredentials(
      { ...roleAccess, sessionName: 'a stream, odd/ly named', ...access, authentication: 'IAM_ROLE' },
      contextWith(endpoint),
      { egress, signal: signal() },
    )
  const failsWith = async (credentials: AwsCredentials, code: FailureCode): Promise<ProbeFailure> => {
    const failure = await credentials().then(
      () => assert.fail('got credentials'),
      (error: unknown) => error,
    )
    assert.ok(failure instanceof ProbeFailure, String(failure))
    const { step, field, reason, remedy } = failure
    assert.deepEqual({ step, code: failure.code, field }, { step: 'authenticate', code, field: 'iamRole' }, reason)
    assert.doesNotMatch(`${reason} ${remedy}`, /operator-secret|AKIAOPERATOR|127\.0\.0\.1|^[A-Z][a-z]/)
    return failure
  }

  it('are the access key for IAM_USER, and undefined without authentication', async () => {
    const accessKey = { accessKeyId: 'AKIAUSER', secretKey: 'secret' }
    const access = { accessKey, iamRole: undefined, region, sessionName: 'any' }
    const connectOptions = { egress: loopbackEgress, signal: signal() }
    const credentials = awsCredentials(
      { ...access, authentication: 'IAM_USER' },
      contextWith(proxy.url),
      connectOptions,
    )
    assert.deepEqual(await credentials(), { accessKeyId: 'AKIAUSER', secretAccessKey: 'secret' })
    const anonymous = awsCredentials({ ...access, authentication: undefined }, contextWith(proxy.url), connectOptions)
    assert.equal(anonymous, undefined)
  })

  it('of a role are requested once for concurrent and later callers', async () => {
    sts.assumed.length = 0
    await withOperator(operator, async () => {
      const credentials = roleAt()
      const [first, second] = await Promise.all([credentials(), credentials()])
      assert.equal(first, second)
      assert.equal(await credentials(), first)
      assert.ok(first.accessKeyId.startsWith('ASIA') && first.sessionToken)
    })
    const sessionName = 'penstock-a-stream,-odd-ly-named'
    assert.deepEqual(sts.assumed, [{ roleArn, sessionName, durationSeconds: 3_600 }])
  })

  it('of a role are renewed shortly before they expire', async () => {
    const { server, check } = await startWith(290_000)
    try {
      await withOperator(operator, async () => {
        const credentials = roleAt(check.url)
        const [first, second] = [await credentials(), await credentials()]
        assert.notEqual(first.accessKeyId, second.accessKeyId)
      })
    } finally {
      await check.stop()
      await server.stop()
    }
  })

  it('of a role are requested again after a failure', async () => {
    const credentials = roleAt()
    await withOperator({ ...operator, secretKey: 'operator-secret-that-is-wrong' }, async () => {
      await failsWith(credentials, 'not_set_up')
    })
    await withOperator(operator, async () => {
      assert.ok((await credentials()).sessionToken)
    })
  })

  it('of a role need an operator with an identity', async () => {
    await withOperator(undefined, async () => {
      const { reason, remedy } = await failsWith(roleAt(), 'not_set_up')
      assert.match(reason, /no AWS identity/)
      assert.match(remedy, /operator|IAM_USER/)
    })
  })

  it('of a role need an operator that AWS knows', async () => {
    await withOperator({ accessKeyId: 'AKIAUNKNOWN000000000', secretKey: 'some-secret' }, async () => {
      const { reason } = await failsWith(roleAt(), 'not_set_up')
      assert.match(reason, /refuses the AWS identity/)
    })
  })

  it('of a role need a role that trusts this organization, and the remedy says how', async () => {
    await withOperator(operator, async () => {
      const other = { iamRole: 'arn:aws:iam::123456789012:role/another' }
      const { reason, remedy } = await failsWith(roleAt(proxy.url, other), 'permission_missing')
      assert.ok(reason.includes(other.iamRole))
      assert.ok(remedy.includes(`external id ${organizationId}`))
    })
  })

  it('of a role need the ARN of a role', async () => {
    await withOperator(operator, async () => {
      await failsWith(roleAt(proxy.url, { iamRole: 'penstock-role' }), 'not_found')
      await failsWith(roleAt(proxy.url, { iamRole: undefined }), 'not_set_up')
    })
  })

  it('of a role need a connection to STS, through the egress', async () => {
    await withOperator(operator, async () => {
      await failsWith(roleAt(`http://127.0.0.1:${await closedPort()}`), 'connection_refused')
      await failsWith(roleAt(proxy.url, {}, strictEgress), 'address_denied')
    })
  })
})

describe('a request to AWS', () => {
  let certificates: Certificates
  before(async () => {
    certificates = await makeCertificates()
  })
  const attempt: AwsAttempt = {
    step: 'describe',
    service: 'Kinesis',
    endpoint: 'the Kinesis of eu-west-1',
    resource: 'the stream "clicks"',
    action: 'kinesis:ListShards',
    fields: { endpoint: 'region', credentials: 'accessKey', resource: 'streamName', region: 'region' },
  }
  const failureOf = async (endpoint: string, egress: Egress, ca?: string): Promise<string> => {
    const client = new KinesisClient({
      ...awsClientDefaults,
      region,
      endpoint,
      credentials: { accessKeyId: 'AKIAUSER', secretAccessKey: 'secret' },
      requestHandler: awsRequestHandler({ egress, signal: signal() }, { caCertificates: ca }),
    })
    try {
      return await client.send(new ListShardsCommand({ StreamName: 'clicks' })).then(
        () => 'none',
        (error: unknown) => awsFailure(error, attempt).code,
      )
    } finally {
      client.destroy()
    }
  }

  it('fails with the error of the egress, however the SDK wraps it', async () => {
    assert.equal(await failureOf(`http://127.0.0.1:${await closedPort()}`, loopbackEgress), 'connection_refused')
    assert.equal(await failureOf('http://127.0.0.1:9', strictEgress), 'address_denied')
    for (const [name, ca, code] of [
      ['server', undefined, 'certificate_untrusted'],
      ['expired', certificates.ca, 'certificate_expired'],
      ['otherHost', certificates.ca, 'certificate_of_other_host'],
    ] as const) {
      const server = await startTls(certificates[name])
      try {
        assert.equal(await failureOf(`https://127.0.0.1:${server.port}`, loopbackEgress, ca), code)
      } finally {
        await server.stop()
      }
    }
  })

  it('ignores environment variables for other AWS tools', async () => {
    const before = { ...process.env }
    Object.assign(process.env, {
      AWS_USE_FIPS_ENDPOINT: 'true',
      AWS_MAX_ATTEMPTS: 'many',
      AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    })
    try {
      assert.equal(await failureOf(`http://127.0.0.1:${await closedPort()}`, loopbackEgress), 'connection_refused')
    } finally {
      for (const name of ['AWS_USE_FIPS_ENDPOINT', 'AWS_MAX_ATTEMPTS', 'AWS_ENDPOINT_URL']) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
    }
  })

  it('uses the endpoint of the region', () => {
    assert.equal(awsEndpoint('kinesis', 'eu-west-1'), 'https://kinesis.eu-west-1.amazonaws.com')
    assert.equal(awsEndpoint('sts', 'cn-north-1'), 'https://sts.cn-north-1.amazonaws.com.cn')
    assert.equal(awsEndpoint('s3', 'us-isob-east-1'), 'https://s3.us-isob-east-1.sc2s.sgov.gov')
  })

  const answered = (name: string, status = 400, more: object = {}): object =>
    Object.assign(new Error('foreign message'), { name, $metadata: { httpStatusCode: status }, ...more })
  for (const [what, error, code, step, isBare] of [
    ['an unknown access key', answered('InvalidAccessKeyId', 403), 'credentials_refused', 'authenticate'],
    ['an unknown token', answered('UnrecognizedClientException'), 'credentials_refused', 'authenticate'],
    ['a wrong secret', answered('SignatureDoesNotMatch', 403), 'credentials_refused', 'authenticate'],
    ['an expired token', answered('ExpiredToken'), 'credentials_refused', 'authenticate'],
    ['a malformed key id', answered('AuthorizationHeaderMalformed'), 'credentials_refused', 'authenticate'],
    ['no permission', answered('AccessDenied', 403), 'permission_missing', 'describe'],
    ['403 with an unreadable body', answered('SyntaxError', 403), 'permission_missing', 'describe'],
    ['403 without a name', answered('UnknownError', 403), 'permission_missing', 'describe', true],
    ['a missing bucket', answered('NoSuchBucket', 404), 'not_found', 'describe'],
    ['404 without a name, where names may be missing', answered('UnknownError', 404), 'not_found', 'describe', true],
    ['404 without a name, where they may not', answered('UnknownError', 404), 'protocol_mismatch', 'describe'],
    ['a name in Code', answered('Error', 404, { Code: 'NoSuchKey' }), 'not_found', 'describe'],
    [
      'another region, which the response names',
      answered('AuthorizationHeaderMalformed', 400, { Region: 'us-west-2' }),
      'wrong_region',
      'describe',
    ],
    ['a redirect', answered('PermanentRedirect', 301), 'wrong_region', 'describe'],
    [
      'a signature for another region',
      answered('InvalidSignatureException', 400, { message: 'Credential should be scoped to a valid region.' }),
      'wrong_region',
      'describe',
    ],
    ['a wrong clock', answered('RequestTimeTooSkewed', 403), 'not_set_up', 'authenticate'],
    [
      'a wrong clock, reported as a signature error',
      answered('InvalidSignatureException', 400, { message: 'Signature expired: 1 is now earlier than 2' }),
      'not_set_up',
      'authenticate',
    ],
    ['too many requests', answered('SlowDown', 503), 'source_failed', 'describe'],
    ['an error of the server', answered('InternalError', 500), 'source_failed', 'describe'],
    ['a rejected request', answered('ValidationException'), 'source_failed', 'describe'],
    ['no answer in time', Object.assign(new Error('x'), { name: 'TimeoutError' }), 'timed_out', 'describe'],
    [
      'a broken connection',
      Object.assign(new Error('x'), { name: 'TimeoutError', code: 'ECONNRESET' }),
      'protocol_mismatch',
      'describe',
    ],
    ['no error object', undefined, 'protocol_mismatch', 'describe'],
  ] as [string, unknown, FailureCode, ProbeStep, boolean?][]) {
    it(`maps ${what}`, () => {
      const failure = awsFailure(error, { ...attempt, ...(isBare ? { mayBeBare: true } : {}) })
      assert.deepEqual([failure.code, failure.step], [code, step])
      assert.doesNotMatch(`${failure.reason} ${failure.remedy}`, /foreign|scoped|Signature expired/)
    })
  }
})
