// The patterns in the OpenAPI document match the request checks, for clients that validate before sending.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openApiDocument } from '../../src/http/openapi.ts'
import { idempotencyKey, parseIfMatch } from '../../src/http/request.ts'
import { isIpRange } from '../../src/lib/ip-range.ts'
import { operations } from '../../src/operations.ts'
import { parseEndpointUrl } from '../../src/services/service.ts'
import { brokersProblem, urlProblem } from '../../src/source-shapes/address.ts'

type Json = { [key: string]: Json } & { pattern?: string; name?: string; in?: string }

const document = () => openApiDocument(operations) as unknown as { components: { schemas: Json }; paths: Json }

function patternOf(shape: string, ...fields: string[]): RegExp {
  let schema = document().components.schemas[shape]!
  for (const field of fields) {
    schema = (schema.properties ?? schema)[field] ?? assert.fail(`${shape} has no ${fields.join('.')}`)
    const reference = (schema as { $ref?: string }).$ref
    if (reference !== undefined) schema = document().components.schemas[reference.split('/').at(-1)!]!
  }
  return new RegExp(schema.pattern ?? assert.fail(`${shape} ${fields.join('.')} has no pattern`), 'u')
}

function patternOfHeader(name: string): RegExp {
  const operation = document().paths['/v1/organizations/{organizationId}/services/{serviceId}']!.patch!
  const parameters = operation.parameters as unknown as Json[]
  return new RegExp(parameters.find((parameter) => parameter.name === name)!.schema!.pattern!, 'u')
}

function takes(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

const hosts = ['a.example', 'a_b-1.example', '10.0.0.7', 'xn--bcher-kva.example', `${'l'.repeat(63)}.example`]
const noHosts = ['', ' ', 'a b', 'user@a', 'a..b', '.a', 'a.', '-a', 'a-', 'bücher', 'a%41', '[a', 'a]', 'a\\b', '<a>']
const addresses = ['[::1]', '[2001:db8::7]', '[::ffff:10.0.0.7]']
const noAddresses = ['[]', '[::1', '::1', '[fe80::1%eth0]', '[a.example]']
const rests = ['', '/', ':80', ':80/', ':', ':x', ':123456', '/path', '?a=b', '#a', ' ', '//', ':80:80']

interface Documented {
  pattern(): RegExp
  isTaken(value: string): boolean
  values: string[]
  /** Values that match the pattern but are refused by checks beyond a pattern. */
  beyond?: string[]
}

const documented: Record<string, Documented> = {
  'endpoint.url of a service': {
    pattern: () => patternOf('ServiceCreate', 'endpoint', 'url'),
    isTaken: (value) => parseEndpointUrl(value) !== undefined,
    values: ['http', 'https', 'HTTP', 'ftp', ''].flatMap((scheme) =>
      [...hosts, ...noHosts, ...addresses, ...noAddresses].flatMap((host) =>
        rests.map((rest) => `${scheme}://${host}${rest}`),
      ),
    ),
    beyond: [
      'http://2130706433',
      'http://0x7f.1',
      'http://a:0',
      'http://a:70000',
      'https://[:::]',
      `http://${'l'.repeat(64)}`,
    ],
  },
  'schemaRegistry.url': {
    pattern: () => patternOf('KafkaSourceCreate', 'schemaRegistry', 'url'),
    isTaken: (value) => urlProblem(value, ['http', 'https']) === undefined,
    values: urls(['http', 'https', 'HTTPS', 's3', 'ftp', '']),
    beyond: ['http://a:70000', 'http://[:::]', 'http://a/?token=1', 'http://1.2.3.4.5'],
  },
  'url of object storage': {
    pattern: () => patternOf('ObjectStorageSourceCreate', 'url'),
    isTaken: (value) => urlProblem(value, ['http', 'https', 's3', 'gs']) === undefined,
    values: [...urls(['http', 'https', 'S3', 'gs', 'ftp']), 's3://bucket/*.csv', 'gs://bucket/a/{b,c}/?.json'],
    beyond: ['https://a:70000/b', 'https://bucket.example/a?sig=1'],
  },
  queueUrl: {
    pattern: () => patternOf('ObjectStorageSourceCreate', 'queueUrl'),
    isTaken: (value) =>
      urlProblem(value, ['http', 'https']) === undefined &&
      /^[\w.-]{1,128}$/.test(new URL(value).pathname.replace(/\/+$/, '').split('/').at(-1)!),
    values: [
      ...urls(['http', 'https', 'sqs']),
      'https://sqs.eu-west-1.amazonaws.com/123456789012/queue',
      'https://sqs.eu-west-1.amazonaws.com/123456789012/queue.fifo/',
      'https://a.example/b/qu eue',
      'https://a.example/b/qu@eue',
      'https://a.example/',
      'https://a.example/queue?a=b',
      `https://a.example/${'q'.repeat(128)}`,
    ],
    beyond: ['https://a:70000/queue', 'https://a.example/b/..', `https://a.example/${'q'.repeat(129)}`],
  },
  brokers: {
    pattern: () => patternOf('KafkaSourceCreate', 'brokers'),
    isTaken: (value) => brokersProblem(value) === undefined,
    values: [...hosts, ...noHosts, ...addresses, ...noAddresses].flatMap((host) =>
      ['', ':9092', ':', ':x', ':9092,b:1', ':9092,', ':9092, b:1', ',b:1', ':123456'].map((rest) => `${host}${rest}`),
    ),
    beyond: ['a:0', 'a:70000', '2130706433:1', `${'l'.repeat(64)}:1`, '[:::]:1'],
  },
  'source of an IP access list': {
    pattern: () => patternOf('ServiceCreate', 'ipAccessList', 'items', 'source'),
    isTaken: isIpRange,
    values: [
      '10.0.0.7',
      '10.0.0.0/8',
      '::1',
      '2001:db8::/32',
      '::ffff:10.0.0.7',
      '',
      'a.example',
      '10.0.0.0/',
      '10.0.0.0/08',
      'fe80::1%eth0',
      ' ::1',
      '10.0.0.0/1234',
    ],
    beyond: ['10.0.0.0/33', '1.2.3', ':::'],
  },
  'If-Match': {
    pattern: () => patternOfHeader('If-Match'),
    isTaken: (value) => takes(() => parseIfMatch(value)),
    values: [
      '*',
      '"1.2"',
      'W/"1"',
      '"a", "b"',
      '"a","b"',
      '"a" ,W/"b"',
      '',
      '1',
      '"a',
      '"a" "b"',
      '*,"a"',
      '"a",',
      '"',
      '**',
    ],
  },
  'Idempotency-Key': {
    pattern: () => patternOfHeader('Idempotency-Key'),
    isTaken: (value) => idempotencyKey.test(value),
    values: ['a', 'a b', '', 'é', ' a', 'a\n', '~'.repeat(255), 'a'.repeat(256)],
  },
}

function urls(schemes: string[]): string[] {
  return schemes.flatMap((scheme) =>
    [...hosts, ...noHosts, ...addresses, ...noAddresses].flatMap((host) =>
      ['', '/', '/a/b', ':80/a', ':x', '?a=b', '#a', '/a b', ' '].map((rest) => `${scheme}://${host}${rest}`),
    ),
  )
}

for (const [name, { pattern: read, isTaken, values, beyond = [] }] of Object.entries(documented)) {
  it(`the pattern of ${name} matches exactly the accepted values`, () => {
    const pattern = read()
    const different = values.filter((value) => pattern.test(value) !== isTaken(value))
    assert.deepEqual(different, [])
    for (const value of beyond) assert.deepEqual([pattern.test(value), isTaken(value)], [true, false], value)
    assert.ok(values.some(isTaken) && !values.every(isTaken))
  })
}
