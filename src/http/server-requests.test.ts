// The HTTP server: bodies, URLs and headers that it accepts and refuses.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, it } from 'node:test'
import { mebibyte, nobody, problemJson, serverRequests, uuidV4 } from '../../test/harness/server.ts'
import { basic, onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'

onBothDatabases('the server', (app) => {
  const { memberPath, endpointPath, patch } = serverRequests(app)

  describe('the body', () => {
    it('may have at most 1 MiB', async () => {
      const text = '{"role":"developer"}'
      assert.equal((await patch({ text: text.padEnd(mebibyte) })).status, 200)
      const { status, body } = await patch({ text: text.padEnd(mebibyte + 1) })
      assert.equal(status, 413)
      assert.equal(body.error, `PAYLOAD_TOO_LARGE: the body is larger than ${mebibyte} bytes`)
    })

    it('may come as JSON or as a merge patch, in UTF-8', async () => {
      for (const contentType of [
        'application/json',
        'Application/JSON',
        'application/json; charset=utf-8',
        'application/json;charset="UTF-8"',
        'application/merge-patch+json',
        'application/merge-patch+json; charset=utf-8',
      ]) {
        assert.equal((await patch({ headers: { 'content-type': contentType } })).status, 200, contentType)
      }
      assert.equal((await patch({ headers: { 'content-encoding': 'identity' } })).status, 200)
    })

    it('may not have another content type or encoding', async () => {
      for (const contentType of [
        '',
        'json',
        'text/plain',
        'text/json',
        'application/jsonp',
        'application/json-patch+json',
        'application/problem+json',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/json, text/plain',
        'application/json; charset=iso-8859-1',
        'application/json; charset=utf-16',
      ]) {
        const { status, body } = await patch({ headers: { 'content-type': contentType } })
        assert.equal(status, 415, contentType)
        assert.match(body.error, /^UNSUPPORTED_MEDIA_TYPE: /)
      }
      for (const encoding of ['gzip', 'br', 'identity, gzip']) {
        const { status, body } = await patch({ headers: { 'content-encoding': encoding } })
        assert.equal(status, 415, encoding)
        assert.ok(body.error.includes(encoding), body.error)
      }
    })

    it('must be strictly valid JSON', async () => {
      const deep = (levels: number) => `{"role":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
      const refused: [string | Buffer, string | RegExp][] = [
        ['', 'the body is empty; send a JSON object'],
        ['   ', 'the body is empty; send a JSON object'],
        ['{"role":}', 'the body is not valid JSON at line 1, column 9 (in role): expected a value'],
        ["{'role':'developer'}", /^the body is not valid JSON at line 1, column 2/],
        ['{"role":"developer",}', /^the body is not valid JSON at line 1, column 21/],
        ['{"role":"developer"}{}', 'the body is not valid JSON at line 1, column 21: expected nothing after the value'],
        ['{"role":"admin","role":"developer"}', 'role is sent twice (line 1, column 17)'],
        ['{"role":"admin","ro\\u006ce":"developer"}', 'role is sent twice (line 1, column 17)'],
        ['{"role":"developer","__proto__":{}}', /__proto__ is not allowed/],
        ['{"role":"developer","\\u005f_proto__":{}}', /__proto__ is not allowed/],
        ['{"role":"\\u0000"}', /^role contains the character U\+0000/],
        ['{"role":"\\ud800"}', /^role contains half a character/],
        ['{"role":9007199254740993}', /^role is an integer beyond/],
        ['{"role":1e999}', /^role is too large a number/],
        ['{"role":NaN}', /^the body is not valid JSON/],
        [deep(33), /^the body is nested deeper than 32 levels/],
        [deep(100_000), /^the body is nested deeper than 32 levels/],
        [Buffer.from('{"role":"developer\xff"}', 'latin1'), 'the body is not valid UTF-8'],
        [Buffer.from('{"role":"developer"}', 'utf16le'), /^the body is not valid/],
        ['\ufeff{"role":"developer"}', /^the body is not valid JSON at line 1, column 1/],
      ]
      for (const [text, sentence] of refused) {
        const { status, body } = await patch({ text, headers: problemJson })
        const name = String(text).slice(0, 50)
        assert.equal(status, 400, name)
        assert.equal(body.code, 'invalid_json', name)
        if (typeof sentence === 'string') assert.equal(body.detail, sentence)
        else assert.match(body.detail, sentence)
      }
      // At the limit it is valid JSON, but not a valid role.
      assert.equal((await patch({ text: deep(32), headers: problemJson })).body.code, 'invalid_body')
    })
  })

  describe('an operation without a body', () => {
    const endpoint = (id: string) => `${endpointPath()}/${id}`

    it('may have a content type, as many clients send one', async () => {
      await app().request('POST', endpointPath(), { body: { id: 'vpce-00000001' } })
      const headers = { 'content-type': 'application/json', 'content-length': '0' }
      assert.equal((await app().request('DELETE', endpoint('vpce-00000001'), { headers })).status, 200)
    })

    it('refuses a body instead of ignoring it', async () => {
      await app().request('POST', endpointPath(), { body: { id: 'vpce-00000002' } })
      const { status, body } = await app().request('DELETE', endpoint('vpce-00000002'), { body: { force: true } })
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: Delete private endpoint must not have a body')
    })

    it('refuses If-Match where there is no version to compare it with', async () => {
      const request = { headers: { 'if-match': '*' }, body: { id: 'vpce-00000003' } }
      const { status, body } = await app().request('POST', endpointPath(), request)
      assert.equal(status, 400)
      assert.match(body.error, /has no version to compare If-Match with; leave it out$/)
    })
  })

  describe('the URL and the headers', () => {
    it('may have a URL of at most 2 KiB', async () => {
      const url = (length: number) => `${memberPath()}?`.padEnd(length, 'a')
      assert.match((await app().request('GET', url(2_048))).body.error, /is not a known/)
      const { status, body } = await app().request('GET', url(2_049))
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: the URL is longer than 2048 bytes')
    })

    it('has the same limit at unknown paths', async () => {
      assert.equal((await app().request('GET', `/v2/${'a'.repeat(2_048)}`)).status, 400)
    })

    describe('on a socket', () => {
      let port: number
      before(async () => {
        port = Number(new URL(await app().app.listen()).port)
      })
      const head = (method: string, url: string, ...lines: string[]) =>
        [`${method} ${url} HTTP/1.1`, 'Host: penstock', `Authorization: ${basic(app().admin)}`, ...lines, '', ''].join(
          '\r\n',
        )

      it('refuses duplicate singleton headers', async () => {
        const body = '{"role":"developer"}'
        for (const name of [
          'Authorization',
          'Content-Type',
          'Content-Encoding',
          'Idempotency-Key',
          'Host',
          'User-Agent',
        ]) {
          const values: Record<string, string> = {
            Authorization: basic(app().admin),
            Host: 'penstock',
            'Content-Type': 'application/json',
            'Content-Length': String(body.length),
            Connection: 'close',
            'Content-Encoding': 'identity',
            'Idempotency-Key': newId(),
            'User-Agent': 'test',
          }
          const lines = Object.entries(values).map(([key, value]) => `${key}: ${value}`)
          const send = (more: string[]) =>
            exchange(port, [`PATCH ${memberPath()} HTTP/1.1`, ...lines, ...more, '', body].join('\r\n'))
          assert.equal((await send([])).status, 200)
          const answer = await send([`${name.toUpperCase()}: ${values[name]}`])
          assert.equal(answer.status, 400, name)
          assert.deepEqual(JSON.parse(answer.body), {
            error: `BAD_REQUEST: the header ${name.toLowerCase()} is sent more than once`,
            status: 400,
          })
        }
      })

      it('answers invalid HTTP with the same kind of error', async () => {
        const length = 'Content-Length'
        for (const [name, text] of [
          ['no HTTP at all', 'HELLO\r\n\r\n'],
          ['an unknown method', head('FETCH', memberPath())],
          ['another version', head('GET', memberPath()).replace('HTTP/1.1', 'HTTP/3.0')],
          ['a header without a colon', head('GET', memberPath(), 'Nonsense')],
          ['a header with a NUL', head('GET', memberPath(), 'X-Test: a\u0000b')],
          ['two lengths', `${head('PATCH', memberPath(), `${length}: 2`, `${length}: 3`)}{}`],
          ['a length that is no number', head('PATCH', memberPath(), `${length}: two`)],
          ['a length and chunks', `${head('PATCH', memberPath(), `${length}: 2`, 'Transfer-Encoding: chunked')}{}`],
          ['headers over 16 KiB', head('GET', memberPath(), `X-Test: ${'a'.repeat(16_384)}`)],
        ] as const) {
          const { status, headers, body } = await exchange(port, text)
          assert.equal(status, 400, name)
          assert.match(headers['content-type'] ?? '', /^application\/json/, name)
          assert.match(headers['x-request-id'] ?? '', uuidV4, name)
          const parsed = JSON.parse(body)
          assert.deepEqual(Object.keys(parsed), ['error', 'status'])
          assert.match(parsed.error, /^BAD_REQUEST: /)
          assert.equal(parsed.status, 400)
        }
      })

      it('answers a request without a Host with the same kind of error', async () => {
        const { status, body } = await exchange(port, `GET ${memberPath()} HTTP/1.1\r\nConnection: close\r\n\r\n`)
        assert.equal(status, 400)
        assert.notEqual(body, '')
        assert.equal(JSON.parse(body).status, 400)
      })

      it('answers an expectation that it does not know in JSON', async () => {
        const answer = await exchange(port, head('GET', memberPath(), 'Expect: wonders', 'Connection: close'))
        assert.notEqual(answer.body, '')
        assert.equal(JSON.parse(answer.body).status, answer.status)
      })

      it('does not wait for a body that it will not read', async () => {
        const length = `Content-Length: ${mebibyte}`
        const unread: [number, string][] = [
          [401, head('PATCH', memberPath(), length).replace(/Authorization: .*\r\n/, '')],
          [403, head('PATCH', memberPath(), length).replace(basic(app().admin), basic(app().developer))],
          [404, head('PATCH', memberPath(nobody), length)],
          [405, head('PUT', memberPath(), length)],
          [413, head('PATCH', memberPath(), `Content-Length: ${mebibyte + 1}`, 'Content-Type: application/json')],
          [415, head('PATCH', memberPath(), length, 'Content-Type: text/plain')],
        ]
        for (const [status, text] of unread) {
          const answer = await exchange(port, text)
          assert.equal(answer.status, status)
          assert.equal(answer.headers.connection, 'close')
        }
      })

      it('counts the bytes of a body without Content-Length', async () => {
        const size = mebibyte + 1
        const chunk = `${size.toString(16)}\r\n${' '.repeat(size)}\r\n0\r\n\r\n`
        const text = head('PATCH', memberPath(), 'Transfer-Encoding: chunked', 'Content-Type: application/json')
        assert.equal((await exchange(port, text + chunk)).status, 413)
      })

      it('keeps the connection after an error without a body', async () => {
        for (const [status, first] of [
          [404, head('GET', '/v1/nothing')],
          [405, head('PUT', memberPath())],
          [404, head('GET', memberPath(undefined, nobody))],
        ] as const) {
          const answer = await exchange(port, first, head('GET', '/health', 'Connection: close'))
          assert.equal(answer.status, status)
          assert.ok(answer.rest.startsWith('HTTP/1.1 200 '), `${status}: ${answer.rest}`)
        }
      })
    })
  })
})

interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** Everything after the first response. */
  rest: string
}

/** Sends raw text and reads until the server closes the connection. */
async function exchange(port: number, ...texts: string[]): Promise<RawAnswer> {
  const received = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.setTimeout(20_000, () => socket.destroy(new Error('the server neither answered nor closed')))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close before it has read everything.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.write(texts.join(''), 'latin1')
  })
  const end = received.indexOf('\r\n\r\n')
  const [first, ...lines] = received.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = Number(headers['content-length'] ?? 0)
  const content = Buffer.from(received.slice(end + 4))
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(first ?? '')?.[1]),
    headers,
    body: content.subarray(0, length).toString(),
    rest: content.subarray(length).toString(),
  }
}
