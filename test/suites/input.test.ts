// S3: the input table. Each line is one request with its exact status and a part of the error text (or of the result, if
// accepted); both databases must answer alike. Lines run in order on one installation: later lines see earlier changes.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { basic, onBothDatabases, type TestApp, type TestResponse } from '../harness/test-app.ts'
import { jsonLines } from './input/json.ts'
import { kafkaLines } from './input/kafka.ts'
import { kinesisLines } from './input/kinesis.ts'
import type { Line, Target } from './input/line.ts'
import { memberLines } from './input/members.ts'
import { objectStorageLines } from './input/object-storage.ts'
import { pipeLines } from './input/pipes.ts'
import { postgresLines } from './input/postgres.ts'
import { endpointLines } from './input/private-endpoints.ts'
import { requestLines } from './input/requests.ts'
import { textLines } from './input/texts.ts'

/** In the order in which they run. */
const lines: Line[] = [
  ...jsonLines,
  ...memberLines,
  ...requestLines,
  ...endpointLines,
  ...textLines,
  ...pipeLines,
  ...kafkaLines,
  ...kinesisLines,
  ...objectStorageLines,
  ...postgresLines,
]

const codes: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  404: 'NOT_FOUND',
  405: 'BAD_REQUEST',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
}

function targetPath(target: Target, { sample }: TestApp): string {
  const organization = `/v1/organizations/${sample.organizationId}`
  if (target === 'member') return `${organization}/members/${sample.userId}`
  const service = `${organization}/services/${sample.serviceId}`
  return target === 'endpoint' ? `${service}/privateEndpoint` : `${service}/pipes/${sample.pipeIds[target]}`
}

let lastAddress = 0

async function sendLine(app: TestApp, line: Line): Promise<TestResponse> {
  const path = targetPath(line.to, app)
  lastAddress++
  return app.request(line.method ?? (line.to === 'endpoint' ? 'POST' : 'PATCH'), line.path?.(path, app) ?? path, {
    body: line.body,
    ...(line.text === undefined ? {} : { text: line.text }),
    headers: (line.headers ?? {}) as Record<string, string>,
    address: `10.0.${lastAddress >> 8}.${lastAddress & 255}`,
  })
}

function checkLine(line: Line, response: TestResponse): void {
  const { status, text, body, headers } = response
  assert.equal(status, line.status, text)
  const isProblem = String(headers['content-type']).startsWith('application/problem+json')
  if (status !== 200 && !isProblem) {
    assert.deepEqual(Object.keys(body), ['error', 'status'])
    assert.equal(body.status, status)
    assert.ok(body.error.startsWith(`${codes[status]}: `), body.error)
  }
  const answered: string = status === 200 ? JSON.stringify(body.result) : (body.error ?? text)
  for (const piece of [line.says ?? []].flat())
    assert.ok(answered.includes(piece), `no ${piece} in ${answered.slice(0, 2000)}`)
  if (line.hides !== undefined) assert.ok(!text.includes(line.hides), text)
  if (line.header)
    assert.ok(String(headers[line.header[0]]).startsWith(line.header[1]), String(headers[line.header[0]]))
}

/** The part of an answer that is equal on both databases: without ids and times. */
function comparable(response: TestResponse, { sample }: TestApp): string {
  const { date: _date, 'x-request-id': _requestId, ...headers } = response.headers
  let text = JSON.stringify([
    response.status,
    headers,
    response.text.replace(/"requestId":"[^"]*"|urn:uuid:[0-9a-f-]*/g, ''),
  ])
  for (const [name, id] of Object.entries({ ...sample, ...sample.pipeIds })) {
    if (typeof id === 'string') text = text.replaceAll(new RegExp(`${id}|${id.replaceAll('-', '')}`, 'gi'), `{${name}}`)
  }
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '{time}')
}

const answers: Record<string, Map<string, string>> = { sqlite: new Map(), postgres: new Map() }

onBothDatabases('S3 input table', (app) => {
  for (const line of lines) {
    it(`S3 ${line.to}: ${line.name} → ${line.status}`, async () => {
      const response = await sendLine(app(), line)
      answers[app().dialect]!.set(`${line.to}: ${line.name}`, comparable(response, app()))
      checkLine(line, response)
    })
  }

  it('S3 answers malformed HTTP with an error message and keeps serving', async () => {
    const { port } = new URL(await app().app.listen())
    const authorization = `Authorization: ${basic(app().admin)}\r\n`
    const path = targetPath('member', app())
    const get = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${authorization}`
    const patch = `PATCH ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n`
    const body = '{"role":"developer"}'
    const raw: [name: string, text: string, status: number, says: string][] = [
      ['a whole request', `${get}\r\n`, 200, '"role":"developer"'],
      ['a whole change', `${patch}${authorization}Content-Length: 20\r\n\r\n${body}`, 200, '"role":"developer"'],
      ['no HTTP', 'hello\r\n\r\n', 400, 'not valid HTTP/1.1'],
      [
        'no host',
        `GET ${path} HTTP/1.1\r\nConnection: close\r\n${authorization}\r\n`,
        400,
        'the header Host is missing',
      ],
      ['a header without a colon', `${get}Broken\r\n\r\n`, 400, 'not valid HTTP/1.1'],
      ['a header with a NUL', `${get}X-A: a\u0000b\r\n\r\n`, 400, 'not valid HTTP/1.1'],
      ['a space before the colon', `${get}X-A : b\r\n\r\n`, 400, 'not valid HTTP/1.1'],
      ['headers of 17 KiB', `${get}X-A: ${'a'.repeat(17_000)}\r\n\r\n`, 400, 'the headers are longer than 16384 bytes'],
      [
        'two Authorization headers',
        `${get}${authorization}\r\n`,
        400,
        'the header authorization is sent more than once',
      ],
      ['two hosts', `${get}Host: y\r\n\r\n`, 400, 'the header host is sent more than once'],
      [
        'two lengths',
        `${patch}${authorization}Content-Length: 20\r\nContent-Length: 2\r\n\r\n${body}`,
        400,
        'not valid HTTP/1.1',
      ],
      [
        'a length beside chunks',
        `${patch}${authorization}Content-Length: 20\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
        'not valid HTTP/1.1',
      ],
      [
        'a length that is no number',
        `${patch}${authorization}Content-Length: 2x\r\n\r\n${body}`,
        400,
        'not valid HTTP/1.1',
      ],
      [
        'a broken chunk',
        `${patch}${authorization}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body}\r\n0\r\n\r\n`,
        400,
        '',
      ],
      [
        'chunks',
        `${patch}${authorization}Transfer-Encoding: chunked\r\n\r\n14\r\n${body}\r\n0\r\n\r\n`,
        200,
        '"role":"developer"',
      ],
      ['a body that nobody may send', `${patch}Content-Length: 2000000\r\n\r\n`, 401, 'send a valid API key'],
      [
        'a length above the limit',
        `${patch}${authorization}Content-Length: 2000000\r\n\r\n`,
        413,
        'larger than 1048576 bytes',
      ],
    ]
    const wrong: string[] = []
    for (const [name, text, status, says] of raw) {
      const answer = await exchange(Number(port), text)
      if (!answer.startsWith(`HTTP/1.1 ${status} `) || !answer.includes(says)) wrong.push(`${name}: ${answer}`)
    }
    assert.deepEqual(wrong, [])
  })
})

describe('S3 both databases', () => {
  it('S3 answers are equal', () => {
    assert.equal(answers.sqlite!.size, lines.length, 'two lines have one name')
    for (const { to, name } of lines) {
      assert.equal(answers.postgres!.get(`${to}: ${name}`), answers.sqlite!.get(`${to}: ${name}`), name)
    }
  })
})

/** Sends bytes and returns the answer until the server closes the connection. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
    socket.setTimeout(20_000, () => socket.destroy(new Error(`no answer to ${text.slice(0, 200)}; so far ${answer}`)))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
    socket.on('close', () => resolve(answer))
  })
}
