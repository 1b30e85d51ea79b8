import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { makeCertificates } from '../test/sources/certificates.ts'
import { readConfig } from './config.ts'

const read = (settings: Record<string, string>) => readConfig(settings, { logLevel: 'info' })

describe('the public URL', () => {
  it('is guessed from host and port by default', () => {
    for (const [settings, publicUrl] of [
      [{}, 'http://127.0.0.1:8080'],
      [{ PENSTOCK_HOST: '::1', PENSTOCK_PORT: '0' }, 'http://[::1]:0'],
      [{ PENSTOCK_HOST: 'localhost', PENSTOCK_PORT: '80' }, 'http://localhost'],
    ] as const) {
      const config = read(settings)
      assert.equal(config.operations.publicUrl, publicUrl)
      assert.equal(config.hasPublicUrl, false)
    }
  })

  it('is normalized to an origin', () => {
    for (const given of [
      'https://penstock.example.com',
      'https://Penstock.example.com:443/',
      'HTTPS://penstock.example.com',
    ]) {
      const config = read({
        PENSTOCK_PUBLIC_URL: given,
        PENSTOCK_TLS_IN_FRONT: 'true',
        PENSTOCK_TRUSTED_PROXIES: '127.0.0.1',
      })
      assert.equal(config.operations.publicUrl, 'https://penstock.example.com')
      assert.equal(config.hasPublicUrl, true)
    }
  })

  it('requires the addresses of the proxy with TLS in front', () => {
    assert.throws(
      () => read({ PENSTOCK_PUBLIC_URL: 'https://penstock.example.com', PENSTOCK_TLS_IN_FRONT: 'true' }),
      /^StartError: PENSTOCK_TLS_IN_FRONT=true needs PENSTOCK_TRUSTED_PROXIES with the addresses .* such as 127\.0\.0\.1/,
    )
  })

  it('is refused in any other form', () => {
    for (const given of [
      'penstock.example.com',
      'ftp://penstock.example.com',
      'https://',
      'https://penstock.example.com/console',
      'https://penstock.example.com//',
      'https://penstock.example.com/?',
      'https://penstock.example.com#',
      'https://user@penstock.example.com',
      'https:\\\\penstock.example.com',
      'https://penstock.example.com\\console',
      'https://pen stock.example.com',
      'https://penstock.example.com:99999',
      'https://[::1',
      'https://%',
    ]) {
      assert.throws(
        () => read({ PENSTOCK_PUBLIC_URL: given }),
        /^StartError: PENSTOCK_PUBLIC_URL must be the address/,
        given,
      )
    }
  })
})

describe('settings of sources', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  after(() => rmSync(folder, { recursive: true }))
  const fileOf = (text: string): string => {
    const file = join(folder, 'certificates.pem')
    writeFileSync(file, text)
    return file
  }

  it('are restrictive by default', () => {
    const { allowLoopback, allowPlaintext, caCertificates, awsEndpoints } = read({})
    assert.deepEqual([allowLoopback, allowPlaintext, caCertificates, awsEndpoints], [false, false, undefined, {}])
  })

  it('accept only a file with certificates', async () => {
    const { ca, server } = await makeCertificates()
    const text = `# ours\n${ca}\nand\n${server.cert}`
    const { caCertificates } = read({ PENSTOCK_CA_CERTIFICATES: fileOf(text) })
    assert.equal(caCertificates?.match(/BEGIN CERTIFICATE/g)?.length, 2)
    assert.ok(!caCertificates?.includes('ours'))
    for (const wrong of ['', server.key, ca.replace(/\n.{10}/, '\n')]) {
      assert.throws(() => read({ PENSTOCK_CA_CERTIFICATES: fileOf(wrong) }), /must have certificates as PEM/)
    }
    assert.throws(() => read({ PENSTOCK_CA_CERTIFICATES: join(folder, 'none') }), /cannot be read \(ENOENT\)/)
  })

  it('accept only known AWS services with an origin', () => {
    const text = 'kinesis=http://10.0.0.7:4566/, sts=https://sts.internal'
    assert.deepEqual(read({ PENSTOCK_AWS_ENDPOINTS: text }).awsEndpoints, {
      kinesis: 'http://10.0.0.7:4566',
      sts: 'https://sts.internal',
    })
    for (const wrong of ['kinesis', 'sqs=http://a', 'kinesis=10.0.0.7:4566', 's3=http://a/b', 's3=ftp://a']) {
      assert.throws(() => read({ PENSTOCK_AWS_ENDPOINTS: wrong }), /PENSTOCK_AWS_ENDPOINTS must be entries/, wrong)
    }
    const ofQueue = /SQS has none: a queue is reached at the queueUrl of its pipe\), not "sqs=http:\/\/a"/
    assert.throws(() => read({ PENSTOCK_AWS_ENDPOINTS: 'sqs=http://a' }), ofQueue)
  })

  it('read reverse private endpoints from a file, and report its errors in one sentence', () => {
    const organizationId = '1b4e28ba-2fa1-41d2-883f-0016d3cca427'
    const readFrom = (text: string) =>
      read({ PENSTOCK_REVERSE_PRIVATE_ENDPOINTS: fileOf(text) }).reversePrivateEndpoints
    const endpoints = readFrom(
      JSON.stringify({ 'rpe-1': { organizationId, routes: { 'b-1:9092': '10.3.0.5:19092' } } }),
    )
    assert.equal(endpoints?.get('rpe-1')?.organizationId, organizationId)
    assert.equal(read({}).reversePrivateEndpoints?.size, 0)
    for (const wrong of [
      '',
      '{"rpe-1": {}}',
      JSON.stringify({ 'rpe-1': { organizationId, routes: { 'b-1': '169.254.169.254:80' } } }),
    ]) {
      assert.throws(
        () => readFrom(wrong),
        /^StartError: PENSTOCK_REVERSE_PRIVATE_ENDPOINTS=\S+ is invalid: .+\.$/,
        wrong,
      )
    }
    const missing = join(folder, 'none')
    assert.throws(() => read({ PENSTOCK_REVERSE_PRIVATE_ENDPOINTS: missing }), /none cannot be read \(ENOENT\)\.$/)
  })

  it('is true or false', () => {
    assert.equal(read({ PENSTOCK_ALLOW_PLAINTEXT: 'true' }).allowPlaintext, true)
    assert.throws(() => read({ PENSTOCK_ALLOW_PLAINTEXT: 'yes' }), /PENSTOCK_ALLOW_PLAINTEXT must be true or false/)
  })
})

describe('the secret of the OpenID provider', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-config-'))
  after(() => rmSync(folder, { recursive: true }))

  it('is in a file that other users cannot read', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, 'hush\n')
    const settings = {
      PENSTOCK_OIDC_ISSUER: 'https://accounts.example.com',
      PENSTOCK_OIDC_CLIENT_ID: 'penstock',
      PENSTOCK_OIDC_CLIENT_SECRET_FILE: file,
    }
    for (const mode of [0o644, 0o640, 0o602]) {
      chmodSync(file, mode)
      const message = `PENSTOCK_OIDC_CLIENT_SECRET_FILE=${file} is open to other users (mode 0${mode.toString(8)}): run "chmod 600 ${file}".`
      assert.throws(() => read(settings), { name: 'StartError', message })
    }
    chmodSync(file, 0o400)
    assert.equal(read(settings).oidc?.clientSecret.reveal(), 'hush')
  })
})

describe('the engine of the try-it mode', () => {
  it('is a URL with a user and a password', () => {
    const { tryEngine } = read({ PENSTOCK_TRY_ENGINE: 'http://ada:p%40ss@10.0.0.7:8123' })
    assert.equal(tryEngine?.url, 'http://10.0.0.7:8123')
    assert.equal(tryEngine?.username, 'ada')
    assert.equal(tryEngine?.password.reveal(), 'p@ss')
    assert.equal(read({ PENSTOCK_TRY_ENGINE: 'https://clickhouse.example' }).tryEngine?.username, 'default')
    assert.equal(read({}).tryEngine, undefined)
  })

  it('has the port that is given, or else that of ClickHouse', () => {
    for (const [given, url] of [
      ['http://u:p@127.0.0.1:80', 'http://127.0.0.1:80'],
      ['https://clickhouse.example:443/', 'https://clickhouse.example:443'],
      ['http://[::1]', 'http://[::1]:8123'],
      ['http://ada:80@clickhouse.example', 'http://clickhouse.example:8123'],
      ['https://clickhouse.example', 'https://clickhouse.example:8443'],
    ] as const)
      assert.equal(read({ PENSTOCK_TRY_ENGINE: given }).tryEngine?.url, url)
  })

  it('is refused with an account that is not URL-encoded', () => {
    for (const given of ['http://ada:hush100%@h:1', 'http://hush%ff:p@h'])
      assert.throws(() => read({ PENSTOCK_TRY_ENGINE: given }), {
        name: 'StartError',
        message:
          'PENSTOCK_TRY_ENGINE must have the user name and the password URL-encoded: write % as %25, and @ as %40.',
      })
  })

  it('is refused without showing its password', () => {
    for (const given of ['ada:hush@10.0.0.7', 'ftp://ada:hush@10.0.0.7', 'http://ada:hush@10.0.0.7/path']) {
      assert.throws(
        () => read({ PENSTOCK_TRY_ENGINE: given }),
        ({ message }: Error) => /^PENSTOCK_TRY_ENGINE must be/.test(message) && !message.includes('hush'),
      )
    }
  })
})

describe('the warning threshold of the retained log', () => {
  it('is 10 GiB by default', () => {
    for (const [given, bytes] of [
      ['', 10 * 2 ** 30],
      ['0', 0],
      ['500MiB', 500 * 2 ** 20],
      ['1 TiB', 2 ** 40],
    ] as const) {
      const { operations } = read({ PENSTOCK_RETAINED_LOG_WARNING: given })
      assert.equal(operations.retainedLogWarningBytes, bytes, given)
    }
  })

  it('is a size with its unit', () => {
    for (const given of ['10', '10GB', '-1GiB', '1.5GiB', '0GiB', 'never', '10gib']) {
      assert.throws(
        () => read({ PENSTOCK_RETAINED_LOG_WARNING: given }),
        /^StartError: PENSTOCK_RETAINED_LOG_WARNING must be a size such as/,
        given,
      )
    }
  })
})
