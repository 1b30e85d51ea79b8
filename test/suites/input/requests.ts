// Input table: headers, paths and queries.
import type { TestApp } from '../../harness/test-app.ts'
import { type Line, openTable } from './line.ts'

export const requestLines: Line[] = []
const { request } = openTable(requestLines)

// Headers
const asText = (contentType: string) => ({ headers: { 'content-type': contentType } })
request('text/plain', 415, 'send the body as application/json', asText('text/plain'))
request('application/xml', 415, 'send the body as application/json', asText('application/xml'))
request(
  'a form by its media type',
  415,
  'send the body as application/json',
  asText('application/x-www-form-urlencoded'),
)
request('multipart', 415, 'send the body as application/json', asText('multipart/form-data; boundary=x'))
request('application/json5', 415, 'send the body as application/json', asText('application/json5'))
request('application/vnd.api+json', 415, 'send the body as application/json', asText('application/vnd.api+json'))
request('an empty media type', 415, 'send the body as application/json', asText(''))
request('an invalid media type', 415, 'send the body as application/json', asText('json'))
request(
  'Latin-1 by its name',
  415,
  'the body must be UTF-8, not iso-8859-1',
  asText('application/json; charset=iso-8859-1'),
)
request('UTF-16 by its name', 415, 'the body must be UTF-8, not utf-16', asText('application/json;charset="utf-16"'))
request('a charset', 200, '"role":"developer"', asText('application/json; charset=utf-8'))
request('a charset in capitals and quotes', 200, '"role":"developer"', asText('application/json; charset="UTF-8"'))
request('a media type in capitals', 200, '"role":"developer"', asText('Application/JSON'))
request('merge patch', 200, '"role":"developer"', asText('application/merge-patch+json'))
request('gzip', 415, 'must not be compressed', { headers: { 'content-encoding': 'gzip' } })
request('identity', 200, '"role":"developer"', { headers: { 'content-encoding': 'identity' } })
request('two media types', 400, 'the header content-type is sent more than once', {
  headers: { 'content-type': ['application/json', 'application/json'] },
})
request('two keys', 400, 'the header idempotency-key is sent more than once', {
  headers: { 'idempotency-key': ['a', 'a'] },
})
request('two user agents', 400, 'the header user-agent is sent more than once', {
  headers: { 'user-agent': ['a', 'b'] },
})
request('If-Match without quotes', 400, 'If-Match must be * or entity tags in quotes', {
  headers: { 'if-match': '1.1' },
})
request('If-Match with an open quote', 400, 'If-Match must be', { headers: { 'if-match': '"1.1' } })
request('If-Match empty', 400, 'If-Match must be', { headers: { 'if-match': '' } })
request('If-Match with * among tags', 400, 'If-Match must be', { headers: { 'if-match': '*, "1.1"' } })
request('If-Match of another version', 412, 'its ETag is now "', { headers: { 'if-match': '"99.99"' } })
request('If-Match with a weak tag', 412, 'its ETag is now "', { headers: { 'if-match': 'W/"1.1"' } })
request('If-Match with anything', 200, '"role":"developer"', { headers: { 'if-match': '*' } })
request('an empty Idempotency-Key', 400, 'Idempotency-Key must have 1 to 255 printable ASCII characters', {
  headers: { 'idempotency-key': '' },
})
request('an Idempotency-Key of 256 characters', 400, 'Idempotency-Key must have', {
  headers: { 'idempotency-key': 'k'.repeat(256) },
})
request('an Idempotency-Key of 255 characters', 200, '"role":"developer"', {
  headers: { 'idempotency-key': 'k'.repeat(255) },
})
request('an Idempotency-Key beyond ASCII', 400, 'Idempotency-Key must have', { headers: { 'idempotency-key': 'clé' } })
request('an Idempotency-Key with a tab', 400, 'Idempotency-Key must have', { headers: { 'idempotency-key': 'a\tb' } })
request('an Idempotency-Key with quotes and spaces', 200, '"role":"developer"', {
  headers: { 'idempotency-key': `"a 'b' \\ c"` },
})
request('two Authorization headers', 400, 'the header authorization is sent more than once', {
  headers: { authorization: ['Basic eDp5', 'Basic eDp5'] },
})
request('Basic without credentials', 401, 'send a valid API key', { headers: { authorization: 'Basic' } })
request('Basic without a colon', 401, 'send a valid API key', {
  headers: { authorization: `Basic ${Buffer.from('key').toString('base64')}` },
})
request('Basic without a key id', 401, 'send a valid API key', {
  headers: { authorization: `Basic ${Buffer.from(':secret').toString('base64')}` },
})
request('Basic with bytes that are no text', 401, 'send a valid API key', {
  headers: { authorization: 'Basic /zr//w==' },
})
request('Basic with a NUL', 401, 'send a valid API key', {
  headers: { authorization: `Basic ${Buffer.from('a\u0000b:c').toString('base64')}` },
})
request('Basic with a quote of SQL', 401, 'send a valid API key', {
  headers: { authorization: `Basic ${Buffer.from("' OR '1'='1:x").toString('base64')}` },
})
request('Basic of 4 KiB', 401, 'send a valid API key', {
  headers: { authorization: `Basic ${Buffer.from(`a:${'b'.repeat(3000)}`).toString('base64')}` },
})
request('a method override', 405, 'POST is not allowed here; allowed: GET, PATCH', {
  method: 'POST',
  headers: { 'x-http-method-override': 'PATCH' },
})
request('Accept of problem details', 415, '"code":"unsupported_media_type"', {
  headers: { accept: 'text/html, application/problem+json;q=0.9', 'content-type': 'text/plain' },
  header: ['content-type', 'application/problem+json'],
})
request('Accept without a supported type', 200, '"role":"developer"', { headers: { accept: 'image/png' } })
request('a user agent of 5,000 characters', 200, '"role":"developer"', { headers: { 'user-agent': 'x'.repeat(5000) } })

// Paths and queries
const get = (path: (path: string, app: TestApp) => string): Partial<Line> => ({ method: 'GET', body: undefined, path })
const withUser = (userId: string) => get((path, { sample }) => path.replace(sample.userId, userId))
request(
  'an id in capitals',
  200,
  '"role":"developer"',
  get((path, { sample }) => path.replace(sample.userId, sample.userId.toUpperCase())),
)
request(
  'an id with a percent-encoded dash',
  200,
  '"role":"developer"',
  get((path) => path.replace(/-(?=[^-]*$)/, '%2D')),
)
request(
  'a trailing slash',
  200,
  '"role":"developer"',
  get((path) => `${path}/`),
)
request(
  'an id without dashes',
  400,
  'userId must be a uuid',
  get((path, { sample }) => path.replace(sample.userId, sample.userId.replaceAll('-', ''))),
)
request(
  'an id in braces',
  400,
  'userId must be a uuid',
  get((path, { sample }) => path.replace(sample.userId, `%7B${sample.userId}%7D`)),
)
request(
  'an id with a newline',
  400,
  'userId must be a uuid',
  get((path) => `${path}%0A`),
)
request(
  'an id with a NUL',
  400,
  'userId must be a uuid',
  get((path) => `${path}%00`),
)
request(
  'an id with a slash inside',
  400,
  'userId must be a uuid',
  get((path) => `${path}%2F`),
)
request(
  'an id with a matrix parameter',
  400,
  'userId must be a uuid',
  get((path) => `${path};v=1`),
)
request('an id that is a number', 400, 'userId must be a uuid, not "1"', withUser('1'))
request('an id that is *', 400, 'userId must be a uuid, not "*"', withUser('*'))
request('an id that climbs', 400, 'userId must be a uuid, not "../.."', withUser('%2E%2E%2F%2E%2E'))
request('an id of SQL', 400, 'userId must be a uuid', withUser("'%20OR%201=1--"))
request('an id in Arabic digits', 400, 'userId must be a uuid', withUser('%D9%A0%D9%A1'))
request(
  'an organization that is no id',
  400,
  'organizationId must be a uuid, not "x"',
  get((path, { sample }) => path.replace(sample.organizationId, 'x')),
)
request(
  'both ids malformed, both reported',
  400,
  ['organizationId must be', 'userId must be'],
  get((path, { sample }) => path.replace(sample.organizationId, 'x').replace(sample.userId, 'y')),
)
request(
  'the nil id',
  404,
  'member 00000000-0000-0000-0000-000000000000 was not found',
  withUser('00000000-0000-0000-0000-000000000000'),
)
request('a percent-encoding that does not decode', 400, 'percent-encoding', withUser('%zz'))
request('a percent-encoding of no UTF-8', 400, 'percent-encoding', withUser('%ff'))
request(
  'a double slash',
  404,
  'there is no operation',
  get((path) => path.replace('/members', '//members')),
)
request(
  'another version',
  404,
  'there is no operation',
  get((path) => path.replace('/v1', '/v2')),
)
request(
  'a path in capitals',
  404,
  'there is no operation',
  get((path) => path.replace('/members', '/Members')),
)
request(
  'a path that goes on',
  404,
  'there is no operation',
  get((path) => `${path}/role`),
)
request(
  'a URL of 3,000 characters',
  400,
  'the URL is longer than 2048 bytes',
  get((path) => `${path}?x=${'y'.repeat(3000)}`),
)
request(
  'a query where none is known',
  400,
  'x is not a known field',
  get((path) => `${path}?x=1`),
)
request(
  'a query without a name',
  400,
  'is not a known field',
  get((path) => `${path}?=1`),
)
request(
  'a query of a name twice',
  400,
  'the query parameter "x" is sent more than once',
  get((path) => `${path}?x=1&x=2`),
)
request(
  'a query named constructor',
  400,
  'constructor is not a known field',
  get((path) => `${path}?constructor=1`),
)
request(
  'a query named __proto__',
  400,
  '__proto__ is not a known field',
  get((path) => `${path}?__proto__=1`),
)
request(
  'an empty query',
  200,
  '"role":"developer"',
  get((path) => `${path}?`),
)
request('a query on a change', 400, 'force is not a known field', { path: (path) => `${path}?force=true` })
