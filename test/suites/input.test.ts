// S3: the input table. Each line is one request with its exact status and a part of the error text (or of the result, if
// accepted); both databases must answer alike. Lines run in order on one installation: later lines see earlier changes.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { basic, onBothDatabases, type TestApp, type TestResponse } from '../harness/test-app.ts'

type Target = 'member' | 'endpoint' | 'kafka' | 'kinesis' | 'objectStorage' | 'postgres'

interface Line {
  name: string
  to: Target
  method?: string
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged. */
  text?: string | Buffer
  headers?: Record<string, string | string[]>
  /** Changes the path of the target. */
  path?(path: string, app: TestApp): string
  status: number
  /** Text that the error or the result must contain. */
  says?: string | string[]
  /** Text that must not be returned. */
  hides?: string
  /** Header that the answer must have. */
  header?: [name: string, value: string]
}

const lines: Line[] = []

type More = Partial<Omit<Line, 'name' | 'to' | 'status'>>

function good(to: Target, name: string, body: unknown, says?: string | string[], more: More = {}): void {
  lines.push({ name, to, body, status: 200, ...(says === undefined ? {} : { says }), ...more })
}

function bad(to: Target, name: string, body: unknown, says: string | string[], more: More = {}): void {
  lines.push({ name, to, body, status: 400, says, ...more })
}

/** A body as text, for input that JSON.stringify cannot produce. */
function badText(name: string, text: string | Buffer, says: string, to: Target = 'member'): void {
  lines.push({ name, to, text, status: 400, says })
}

function goodText(name: string, text: string | Buffer, says: string, to: Target = 'member'): void {
  lines.push({ name, to, text, status: 200, says })
}

function request(name: string, status: number, says: string | string[], more: Partial<Line>): void {
  lines.push({ name, to: 'member', body: { role: 'developer' }, status, says, ...more })
}

const emoji = '😀'
const password = 'hunter2-hunter2'
const pem = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n'

// JSON
badText('an empty body', '', 'the body is empty; send a JSON object')
badText('only white space', ' \r\n\t ', 'the body is empty')
badText('a byte order mark', '\ufeff{"role":"admin"}', 'line 1, column 1: expected a value')
badText('a trailing comma in an object', '{"role":"admin",}', 'column 17: expected a key in double quotes')
badText('a trailing comma in a list', '{"role":["admin",]}', '(in role[1]): expected a value')
badText('a leading comma', '{,"role":"admin"}', 'expected a key in double quotes or }')
badText('a missing comma', '{"role":"admin" "x":1}', 'expected a comma or }')
badText('a missing comma in a list', '{"role":[1 2]}', 'expected a comma or ]')
badText('a missing colon', '{"role" "admin"}', 'expected a colon')
badText('a line comment', '{"role":"admin"} // why', 'expected nothing after the value')
badText('a block comment', '{/* why */"role":"admin"}', 'expected a key in double quotes or }')
badText('single quotes', "{'role':'admin'}", 'line 1, column 2: expected a key in double quotes')
badText('a single-quoted value', `{"role":'admin'}`, 'expected a value')
badText('an unquoted key', '{role:"admin"}', 'expected a key in double quotes')
badText('NaN', '{"role":NaN}', '(in role): expected a value')
badText('Infinity', '{"role":Infinity}', 'expected a value')
badText('-Infinity', '{"role":-Infinity}', 'expected a digit')
badText('undefined', '{"role":undefined}', 'expected a value')
badText('True', '{"role":True}', 'expected a value')
badText('a cut literal', '{"role":tru', 'expected a value')
badText('a literal run on', '{"role":nullx}', 'expected a comma or }')
badText('a leading zero', '{"role":01}', 'without leading zeros')
badText('a plus sign', '{"role":+1}', 'expected a value')
badText('a bare point', '{"role":.5}', 'expected a value')
badText('nothing after the point', '{"role":1.}', 'expected a digit')
badText('nothing in the exponent', '{"role":1e}', 'expected a digit')
badText('a hexadecimal number', '{"role":0x10}', 'expected a comma or }')
badText('an underscore in a number', '{"role":1_000}', 'expected a comma or }')
badText('only a minus', '{"role":-}', 'expected a digit')
badText('1e400', '{"role":1e400}', 'role is too large a number')
badText('-1e400', '{"role":-1e400}', 'role is too large a number')
badText('2^53', '{"role":9007199254740992}', 'role is an integer beyond 9007199254740991')
badText('-2^53', '{"role":-9007199254740992}', 'role is an integer beyond 9007199254740991')
badText('400 digits', `{"role":${'1'.repeat(400)}}`, 'role is an integer beyond')
badText('2^53-1, which is a number but no role', '{"role":9007199254740991}', 'not 9007199254740991')
badText('1e-400, which is 0', '{"role":1e-400}', 'role must be one of admin, developer, not 0')
badText('a key twice', '{"role":"admin","role":"developer"}', 'role is sent twice (line 1, column 17)')
badText('a key twice, once escaped', '{"role":"admin","\\u0072ole":"developer"}', 'role is sent twice')
badText(
  'a nested key twice',
  '{"settings":{"engine_max_threads":1,"engine_max_threads":2}}',
  'settings.engine_max_threads is sent twice',
  'kafka',
)
badText('__proto__', '{"__proto__":{"role":"admin"}}', 'the key __proto__ is not allowed')
badText('__proto__, escaped', '{"\\u005f\\u005fproto__":{"role":"admin"}}', 'the key __proto__ is not allowed')
badText('__proto__, nested', '{"role":"admin","x":{"__proto__":1}}', 'the key __proto__ is not allowed')
badText('constructor', '{"role":"admin","constructor":{}}', 'constructor is not a known field')
badText('toString', '{"role":"admin","toString":"x"}', 'toString is not a known field')
badText('hasOwnProperty', '{"role":"admin","hasOwnProperty":1}', 'hasOwnProperty is not a known field')
badText('an escaped NUL', '{"name":"a\\u0000b"}', 'name contains the character U+0000', 'kafka')
badText('a raw NUL', '{"name":"a\u0000b"}', 'name contains the character U+0000', 'kafka')
badText('a NUL in a key', '{"na\\u0000me":"a"}', 'a key in the body contains the character U+0000', 'kafka')
badText('NUL between tokens', '{"name":\u0000"a"}', 'expected a value', 'kafka')
badText('a lone high surrogate', '{"name":"\\ud83d"}', 'name contains half a character', 'kafka')
badText('a lone low surrogate', '{"name":"\\ude00x"}', 'name contains half a character', 'kafka')
badText('a reversed pair', '{"name":"\\ude00\\ud83d"}', 'name contains half a character', 'kafka')
badText('a lone surrogate in a key', '{"\\ud83d":1}', 'a key in the body contains half a character', 'kafka')
badText(
  'a surrogate as UTF-8 bytes',
  Buffer.from([...Buffer.from('{"name":"'), 0xed, 0xa0, 0x80, 0x22, 0x7d]),
  'not valid UTF-8',
  'kafka',
)
badText(
  'an overlong NUL',
  Buffer.from([...Buffer.from('{"name":"'), 0xc0, 0x80, 0x22, 0x7d]),
  'not valid UTF-8',
  'kafka',
)
badText('Latin-1', Buffer.from('{"name":"caf\u00e9"}', 'latin1'), 'not valid UTF-8', 'kafka')
badText('UTF-16', Buffer.from('{"role":"admin"}', 'utf16le'), 'expected a key in double quotes')
badText('a raw tab in a string', '{"name":"a\tb"}', 'expected control characters in a string to be escaped', 'kafka')
badText(
  'a raw newline in a string',
  '{"name":"a\nb"}',
  'expected control characters in a string to be escaped',
  'kafka',
)
badText('an unknown escape', '{"name":"\\x41"}', 'expected an escape that JSON knows', 'kafka')
badText('a short unicode escape', '{"name":"\\u12"}', 'expected four hexadecimal digits', 'kafka')
badText('an invalid unicode escape', '{"name":"\\u12G4"}', 'expected four hexadecimal digits', 'kafka')
badText('depth 33', `{"role":${'['.repeat(32)}${']'.repeat(32)}}`, 'nested deeper than 32 levels')
badText('depth 100,000', '['.repeat(100_000), 'nested deeper than 32 levels')
badText(
  'depth 32, which is JSON but no role',
  `{"role":${'['.repeat(31)}${']'.repeat(31)}}`,
  'role must be one of admin, developer, not a list',
)
badText('a list at the root', '[{"role":"admin"}]', 'the body must be an object, not a list')
badText('a string at the root', '"admin"', 'the body must be an object, not "admin"')
badText('a number at the root', '17', 'the body must be an object, not 17')
badText('null at the root', 'null', 'the body must be an object, not null')
badText('true at the root', 'true', 'the body must be an object, not true')
badText('two values', '{"role":"admin"}{"role":"admin"}', 'expected nothing after the value')
badText('a body that is cut in a string', '{"role":"adm', 'expected the closing quote of a string, but the body ends')
badText('a body that is cut after a key', '{"role"', 'expected a colon, but the body ends')
badText('a body that is cut after a value', '{"role":"admin"', 'expected a comma or }, but the body ends')
badText('a form', 'role=admin', 'expected a value')
badText('a no-break space', '\u00a0{"role":"admin"}', 'expected a value')
badText('a form feed', '\f{"role":"admin"}', 'expected a value')
badText('a line separator', '\u2028{"role":"admin"}', 'expected a value')
badText(
  'a string at the root of a body with secrets',
  JSON.stringify(password),
  'the body must be an object, not a string',
  'kafka',
)
goodText('all white space that JSON knows', '\r\n\t {\t"role"\r\n: \n"developer" }\n\n', '"role":"developer"')
goodText('escapes where none are needed', '{"\\u0072ole":"\\u0061dmin"}', '"role":"admin"')
goodText('a number with an exponent', '{"settings":{"engine_max_threads":1.2e1}}', '"engine_max_threads":12', 'kafka')
goodText('a number with a point', '{"settings":{"engine_max_threads":8.0}}', '"engine_max_threads":8', 'kafka')
goodText('minus zero', '{"settings":{"engine_max_threads":-0}}', '"engine_max_threads":0', 'kafka')
goodText('a body of 1 MiB', `{"role":"developer"${' '.repeat(1_048_576 - 20)}}`, '"role":"developer"')
lines.push({
  name: 'a body of 1 MiB and a byte',
  to: 'member',
  text: `{"role":"developer"${' '.repeat(1_048_576 - 19)}}`,
  status: 413,
  says: 'the body is larger than 1048576 bytes',
})

// Members
bad('member', 'an empty object', {}, 'role is required')
bad('member', 'role null', { role: null }, 'role must be one of admin, developer, not null')
bad('member', 'role as a number', { role: 1 }, 'role must be one of admin, developer, not 1')
bad('member', 'role as a boolean', { role: true }, 'role must be one of admin, developer, not true')
bad('member', 'role as a list', { role: ['admin'] }, 'role must be one of admin, developer, not a list')
bad('member', 'role as an object', { role: { name: 'admin' } }, 'role must be one of admin, developer, not an object')
bad('member', 'an empty role', { role: '' }, 'role must be one of admin, developer, not ""')
bad('member', 'a role in capitals', { role: 'ADMIN' }, 'not "ADMIN"')
bad('member', 'a role with a space', { role: 'admin ' }, 'not "admin "')
bad('member', 'a role that does not exist', { role: 'owner' }, 'not "owner"')
bad('member', 'a role in Cyrillic', { role: 'аdmin' }, 'not "аdmin"')
bad('member', 'a role in fullwidth letters', { role: 'ａｄｍｉｎ' }, 'role must be one of')
bad('member', 'a long role, quoted in part', { role: 'x'.repeat(5000) }, `not "${'x'.repeat(64)}…"`)
bad('member', 'a long role of emoji, not cut in half', { role: `x${emoji.repeat(500)}` }, `not "x${emoji.repeat(31)}…"`)
bad('member', 'an unknown field', { role: 'admin', admin: true }, 'admin is not a known field')
bad('member', 'a misspelt field', { rol: 'admin' }, [
  'rol is not a known field, did you mean "role"?',
  'role is required',
])
bad('member', 'a field in other letters', { Role: 'admin' }, 'Role is not a known field, did you mean "role"?')
bad('member', 'an empty key', { role: 'admin', '': 1 }, '"" is not a known field')
bad('member', 'a key with a point', { role: 'admin', 'a.b': 1 }, '"a.b" is not a known field')
bad(
  'member',
  'a name of another',
  { role: 'admin', name: 'Somebody Else' },
  'name cannot be changed (it is "Amara Okafor")',
)
bad('member', 'an email of another', { role: 'admin', email: 'x@y.example' }, 'email cannot be changed')
bad('member', 'a name that is null', { role: 'admin', name: null }, 'name cannot be changed')
bad('member', 'two read-only fields at once', { role: 'admin', name: 'x', joinedAt: '2020-01-01T00:00:00.000Z' }, [
  'name cannot be changed',
  'joinedAt cannot be changed',
])
bad('member', 'an echo without a role', { name: 'Amara Okafor' }, 'role is required')
good('member', 'the name it has', { role: 'developer', name: 'Amara Okafor' }, '"name":"Amara Okafor"')
good('member', 'the role it has', { role: 'developer' }, '"role":"developer"')

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
request('a method override', 405, 'POST is not offered here; offered: GET, PATCH', {
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
  'there is nothing at',
  get((path) => path.replace('/members', '//members')),
)
request(
  'another version',
  404,
  'there is nothing at',
  get((path) => path.replace('/v1', '/v2')),
)
request(
  'a path in capitals',
  404,
  'there is nothing at',
  get((path) => path.replace('/members', '/Members')),
)
request(
  'a path that goes on',
  404,
  'there is nothing at',
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

// Private endpoints
const endpointId = 'vpce-0a1b2c3d4e5f67890'
const strict = (query: string): More => ({ path: (path) => `${path}?${query}` })
bad('endpoint', 'no id', { description: 'x' }, 'id is required')
bad('endpoint', 'id null', { id: null }, 'id must be 1 to 255 printable ASCII characters without white space, not null')
bad(
  'endpoint',
  'id as a number',
  { id: 17 },
  'id must be 1 to 255 printable ASCII characters without white space, not 17',
)
bad('endpoint', 'id as a list', { id: [endpointId] }, 'not a list')
bad('endpoint', 'an empty id', { id: '' }, 'id must have 1 to 255 characters, not 0')
bad('endpoint', 'an id of 256 characters', { id: 'v'.repeat(256) }, 'id must have 1 to 255 characters, not 256')
bad('endpoint', 'an id with a space', { id: 'vpce 1' }, 'without white space, not "vpce 1"')
bad('endpoint', 'an id with a newline', { id: `${endpointId}\n` }, 'without white space')
bad('endpoint', 'an id beyond ASCII', { id: 'vpce-é' }, 'printable ASCII')
bad('endpoint', 'an id with DEL', { id: 'vpce\u007f' }, 'printable ASCII')
bad('endpoint', 'description null', { id: endpointId, description: null }, 'description must be a string, not null')
bad('endpoint', 'description as a number', { id: endpointId, description: 1 }, 'description must be a string, not 1')
bad(
  'endpoint',
  'a description of 256 emoji',
  { id: endpointId, description: emoji.repeat(256) },
  'description must have at most 255 characters, not 256',
)
bad('endpoint', 'a region', { id: endpointId, region: 'us-east-1' }, 'region is not a known field')
bad('endpoint', 'a cloud provider', { id: endpointId, cloudProvider: 'aws' }, 'cloudProvider is not a known field')
bad(
  'endpoint',
  'an unusual id, strictly',
  { id: 'vpce-1' },
  'id "vpce-1" does not look like an endpoint of aws',
  strict('strict=true'),
)
bad('endpoint', 'strict in capitals', { id: endpointId }, 'strict must be a boolean, not "TRUE"', strict('strict=TRUE'))
bad('endpoint', 'strict as 1', { id: endpointId }, 'strict must be a boolean, not "1"', strict('strict=1'))
bad('endpoint', 'strict empty', { id: endpointId }, 'strict must be a boolean, not ""', strict('strict='))
bad('endpoint', 'strict without a value', { id: endpointId }, 'strict must be a boolean, not ""', strict('strict'))
bad(
  'endpoint',
  'strict twice',
  { id: endpointId },
  'the query parameter "strict" is sent more than once',
  strict('strict=true&strict=true'),
)
bad(
  'endpoint',
  'strict with a stranger',
  { id: endpointId },
  'dryRun is not a known field',
  strict('strict=true&dryRun=1'),
)
good('endpoint', 'strict, percent-encoded', { id: 'vpce-0a1b2c3d' }, '"id":"vpce-0a1b2c3d"', strict('%73trict=true'))
good('endpoint', 'an id of 255 characters', { id: 'v'.repeat(255) }, `"id":"${'v'.repeat(255)}"`)
good('endpoint', 'no description', { id: endpointId }, '"description":""')
good('endpoint', 'the same again', { id: endpointId, description: '' }, `"id":"${endpointId}"`)
lines.push({
  name: 'the same with another description',
  to: 'endpoint',
  body: { id: endpointId, description: 'x' },
  status: 409,
  says: `private endpoint ${endpointId} is already registered`,
})
good('endpoint', 'an unusual id, with a warning', { id: 'a"b\\c' }, '"id":"a\\"b\\\\c"', {
  header: ['warning', '199 - "id '],
})

// Valid texts that must be returned unchanged.
const texts: [string, string][] = [
  ['255 emoji', emoji.repeat(255)],
  ['a family in one glyph', '👨‍👩‍👧‍👦 🏳️‍🌈'],
  ['right-to-left text', 'خط أنابيب الطلبات'],
  ['bidirectional controls', 'a\u202eb\u2066c\u2069'],
  ['combining characters', 'Z̸̡̛a̶l̷g̵o̴'],
  ['a decomposed letter', 'cafe\u0301'],
  ['a composed letter', 'caf\u00e9'],
  ['Chinese, Hindi and Thai', '管道 पाइप ท่อ'],
  ['characters beyond the first plane', '𝒫𝒾𝓅𝑒 𠜎'],
  ['a byte order mark inside', 'a\ufeffb'],
  ['line and paragraph separators', 'a\u2028b\u2029c'],
  ['control characters', 'a\u0001\t\n\r\u001f\u007fb'],
  ['noncharacters', 'a\ufffe\uffffb'],
  ['private use', 'a\ue000b'],
  ['markup', '<script>alert("x")</script>&amp;'],
  ['SQL', `'; DROP TABLE pipes; --"`],
  ['format strings', '%s%n%$x{{7*7}}'],
  ['placeholders', ':name $1 ?1'],
  ['backslashes and quotes', '\\"\\u0000\\'],
  ['spaces around', '  spaces  '],
]
for (const [name, text] of texts) {
  good('kafka', `${name} in a name`, { name: text }, `"name":${JSON.stringify(text)}`)
}
for (const [index, [name, text]] of texts.slice(0, 10).entries()) {
  good(
    'endpoint',
    `${name} in a description`,
    { id: `vpce-${index}`, description: text },
    `"description":${JSON.stringify(text)}`,
  )
}

// Pipes: common fields
bad('kafka', 'an empty object', {}, 'the body has nothing to update')
bad(
  'kafka',
  'empty objects inside',
  { source: { kafka: {} }, settings: {}, destination: {} },
  'the body has nothing to update',
)
bad('kafka', 'an unknown field', { nmae: 'x' }, 'nmae is not a known field, did you mean "name"?')
bad('kafka', 'an empty name', { name: '' }, 'name must have 1 to 255 characters, not 0')
bad('kafka', 'a name of 256 characters', { name: 'n'.repeat(256) }, 'name must have 1 to 255 characters, not 256')
bad('kafka', 'name null', { name: null }, 'name must be a string, not null')
bad('kafka', 'name as a number', { name: 5 }, 'name must be a string, not 5')
bad('kafka', 'name as an object', { name: {} }, 'name must be a string, not an object')
good('kafka', 'a name of one character', { name: 'n' }, '"name":"n"')
good('kafka', 'a name of 255 characters', { name: 'n'.repeat(255) }, `"name":"${'n'.repeat(255)}"`)
bad('kafka', 'a state', { state: 'Running' }, 'state cannot be changed (it is "Stopped")')
bad('kafka', 'another id', { id: '00000000-0000-4000-8000-000000000000' }, 'id cannot be changed')
bad('kafka', 'an id of the wrong type', { id: 7 }, 'id cannot be changed')
bad(
  'kafka',
  'scaling',
  { scaling: { replicas: 2 } },
  'scaling.replicas cannot be changed (it is 1); PATCH …/pipes/{pipeId}/scaling changes it',
)
bad(
  'kafka',
  'three problems, reported together',
  { name: '', settings: { engine_max_threads: 65 }, fieldMappings: 'x' },
  ['name must have', 'settings.engine_max_threads must be', 'fieldMappings must be a list'],
)
good(
  'kafka',
  'the state and the destination it has',
  { name: 'n', state: 'Stopped', destination: { database: 'analytics' } },
  '"state":"Stopped"',
)

bad('kafka', 'destination null', { destination: null }, 'destination must be an object, not null')
bad('kafka', 'destination as a list', { destination: [] }, 'destination must be an object, not a list')
bad(
  'kafka',
  'another database',
  { destination: { database: 'other' } },
  'destination.database cannot be changed (it is "analytics")',
)
bad('kafka', 'another table', { destination: { table: null } }, 'destination.table cannot be changed')
bad('kafka', 'columns null', { destination: { columns: null } }, 'destination.columns must be a list, not null')
bad(
  'kafka',
  'columns as an object',
  { destination: { columns: {} } },
  'destination.columns must be a list, not an object',
)
bad(
  'kafka',
  'a column null',
  { destination: { columns: [null] } },
  'destination.columns[0] must be an object, not null',
)
bad(
  'kafka',
  'a column without a name',
  { destination: { columns: [{ type: 'String' }] } },
  'destination.columns[0].name is required',
)
bad(
  'kafka',
  'a column without a type',
  { destination: { columns: [{ name: 'customer' }] } },
  'destination.columns[0].type is required',
)
bad(
  'kafka',
  'a column with an empty name',
  { destination: { columns: [{ name: '', type: 'String' }] } },
  'destination.columns[0].name must have 1 to 255 characters',
)
bad(
  'kafka',
  'a column with a blank type',
  { destination: { columns: [{ name: 'a', type: ' \t' }] } },
  'destination.columns[0].type must be a type of the engine',
)
bad(
  'kafka',
  'a column with a type of 4,097 characters',
  { destination: { columns: [{ name: 'a', type: 'T'.repeat(4097) }] } },
  'must have 1 to 4096 characters, not 4097',
)
bad(
  'kafka',
  'a column with a stranger',
  { destination: { columns: [{ name: 'a', type: 'String', nullable: true }] } },
  'destination.columns[0].nullable is not a known field',
)
bad(
  'kafka',
  'a column twice',
  {
    destination: {
      columns: [
        { name: 'customer', type: 'String' },
        { name: 'customer', type: 'Int8' },
      ],
    },
  },
  'destination.columns[1].name repeats "customer"',
)
bad(
  'kafka',
  'columns without one that is mapped',
  { destination: { columns: [] } },
  `fieldMappings[0].destinationField names "customer", which is not one of the destination's columns`,
)
bad(
  'kafka',
  '2,001 columns',
  { destination: { columns: Array.from({ length: 2001 }, (_, at) => ({ name: `c${at}`, type: 'String' })) } },
  'destination.columns must have at most 2000 items, not 2001',
)
bad(
  'kafka',
  'more problems than are listed',
  { destination: { columns: Array.from({ length: 500 }, () => ({})) } },
  'the body has more problems than the 100 that are listed',
)
good(
  'kafka',
  '2,000 columns',
  {
    destination: { columns: Array.from({ length: 2000 }, (_, at) => ({ name: `c${at}`, type: 'String' })) },
    fieldMappings: [],
  },
  '"name":"c1999"',
)
good(
  'kafka',
  'names that only differ in case',
  {
    destination: {
      columns: [
        { name: 'a', type: 'String' },
        { name: 'A', type: 'String' },
      ],
    },
  },
  '"name":"A"',
)
good(
  'kafka',
  'a column named as it can be',
  { destination: { columns: [{ name: '`"); DROP TABLE x', type: "Enum8('a' = 1)" }] } },
  'DROP TABLE x',
)
good('kafka', 'no columns', { destination: { columns: [] } }, '"columns":[]')
good(
  'kafka',
  'a column named __proto__ by its value',
  {
    destination: {
      columns: [
        { name: '__proto__', type: 'String' },
        { name: 'customer', type: 'String' },
      ],
    },
  },
  '"name":"__proto__"',
)

bad('kafka', 'mappings null', { fieldMappings: null }, 'fieldMappings must be a list, not null')
bad(
  'kafka',
  'mappings as an object',
  { fieldMappings: { customer: 'name' } },
  'fieldMappings must be a list, not an object',
)
bad(
  'kafka',
  'a mapping without a source',
  { fieldMappings: [{ destinationField: 'customer' }] },
  'fieldMappings[0].sourceField is required',
)
bad(
  'kafka',
  'a mapping with an empty source',
  { fieldMappings: [{ destinationField: 'customer', sourceField: '' }] },
  'fieldMappings[0].sourceField must have 1 to 1024 characters',
)
bad(
  'kafka',
  'a mapping with a source of 1,025 characters',
  { fieldMappings: [{ destinationField: 'customer', sourceField: 's'.repeat(1025) }] },
  'must have 1 to 1024 characters, not 1025',
)
bad(
  'kafka',
  'a mapping to no column',
  { fieldMappings: [{ destinationField: 'nobody', sourceField: 'x' }] },
  'names "nobody", which is not one of',
)
bad(
  'kafka',
  'a mapping to a name of Object',
  { fieldMappings: [{ destinationField: 'constructor', sourceField: 'x' }] },
  'names "constructor", which is not one of',
)
bad(
  'kafka',
  'a column mapped twice',
  {
    fieldMappings: [
      { destinationField: 'customer', sourceField: 'x' },
      { destinationField: 'customer', sourceField: 'y' },
    ],
  },
  'fieldMappings[1].destinationField maps "customer" a second time',
)
good(
  'kafka',
  'a mapping with a source of 1,024 characters',
  { fieldMappings: [{ destinationField: 'customer', sourceField: 's'.repeat(1024) }] },
  's'.repeat(1024),
)
good('kafka', 'no mappings', { fieldMappings: [] }, '"fieldMappings":[]')

bad('kafka', 'settings null', { settings: null }, 'settings must be an object, not null')
bad('kafka', 'settings as a list', { settings: [] }, 'settings must be an object, not a list')
bad('kafka', 'an unknown setting', { settings: { max_threads: 1 } }, 'settings.max_threads is not a known field')
bad('kafka', 'a misspelt setting', { settings: { engine_max_thread: 1 } }, 'did you mean "engine_max_threads"?')
const bounds: Record<string, [least: number, most: number, byDefault: number]> = {
  streaming_max_insert_wait_ms: [500, 60_000, 5_000],
  object_storage_concurrency: [1, 35, 1],
  object_storage_polling_interval_ms: [100, 3_600_000, 30_000],
  object_storage_max_insert_bytes: [10_485_760, 53_687_091_200, 10_737_418_240],
  object_storage_max_file_count: [1, 10_000, 100],
  engine_max_threads: [0, 64, 0],
  engine_max_insert_threads: [0, 16, 1],
  engine_max_download_threads: [0, 32, 4],
  engine_min_insert_block_size_bytes: [0, 10_737_418_240, 1_073_741_824],
  engine_parallel_distributed_insert_select: [0, 2, 2],
}
for (const [setting, [least, most, byDefault]] of Object.entries(bounds)) {
  const allowed = `settings.${setting} must be an integer between ${least} and ${most} or null, not `
  bad('kafka', `${setting} below`, { settings: { [setting]: least - 1 } }, `${allowed}${least - 1}`)
  bad('kafka', `${setting} above`, { settings: { [setting]: most + 1 } }, `${allowed}${most + 1}`)
  bad('kafka', `${setting} with a fraction`, { settings: { [setting]: least + 0.5 } }, `${allowed}${least + 0.5}`)
  bad('kafka', `${setting} as text`, { settings: { [setting]: String(least) } }, `${allowed}"${least}"`)
  good('kafka', `${setting} least`, { settings: { [setting]: least } }, `"${setting}":${least}`)
  good('kafka', `${setting} most`, { settings: { [setting]: most } }, `"${setting}":${most}`)
  good('kafka', `${setting} null`, { settings: { [setting]: null } }, `"${setting}":${byDefault}`)
}
for (const [setting, byDefault] of [
  ['object_storage_use_cluster_function', true],
  ['engine_parallel_view_processing', false],
] as const) {
  const allowed = `settings.${setting} must be a boolean or null, not `
  bad('kafka', `${setting} as 1`, { settings: { [setting]: 1 } }, `${allowed}1`)
  bad('kafka', `${setting} as text`, { settings: { [setting]: 'true' } }, `${allowed}"true"`)
  good('kafka', `${setting} turned`, { settings: { [setting]: !byDefault } }, `"${setting}":${!byDefault}`)
  good('kafka', `${setting} null`, { settings: { [setting]: null } }, `"${setting}":${byDefault}`)
}

bad('kafka', 'source null', { source: null }, 'source must be an object, not null')
bad('kafka', 'source as text, which may be a secret', { source: password }, 'source must be an object, not a string', {
  hides: password,
})
bad('kafka', 'a source of no kind', { source: { mysql: {} } }, 'source.mysql is not a known field')
bad(
  'kafka',
  'a source of another kind',
  { source: { kinesis: { iamRole: 'x' } } },
  'source.kinesis is invalid: this is a kafka pipe',
)
bad('kafka', 'a source null', { source: { kafka: null } }, 'source.kafka must be an object, not null')
bad(
  'kafka',
  'validateSamples as text',
  { source: { validateSamples: 'true' } },
  'source.validateSamples must be a boolean, not "true"',
)
bad(
  'kafka',
  'validateSamples null',
  { source: { validateSamples: null } },
  'source.validateSamples must be a boolean, not null',
)
good('kafka', 'validateSamples false', { name: 'n', source: { validateSamples: false } }, '"name":"n"')

// Kafka
const kafka = (patch: object) => ({ source: { kafka: patch } })
bad('kafka', 'other brokers', kafka({ brokers: 'x:1' }), 'source.kafka.brokers cannot be changed')
good('kafka', 'the topics it has', kafka({ topics: 'orders', reversePrivateEndpointIds: ['e'] }), '"topics":"orders"')
bad(
  'kafka',
  'an unknown authentication',
  kafka({ authentication: 'KERBEROS' }),
  'source.kafka.authentication must be one of PLAIN, SCRAM-SHA-256',
)
bad('kafka', 'authentication null', kafka({ authentication: null }), 'source.kafka.authentication must be one of')
bad('kafka', 'authentication in small letters', kafka({ authentication: 'plain' }), 'not "plain"')
bad(
  'kafka',
  'IAM_USER without its credentials',
  kafka({ authentication: 'IAM_USER' }),
  'source.kafka.credentials must have accessKeyId and secretKey',
)
bad(
  'kafka',
  'an invalid certificate',
  kafka({ caCertificate: 'MIIB' }),
  'source.kafka.caCertificate must be PEM: one or more "-----BEGIN CERTIFICATE-----" blocks or null',
)
bad(
  'kafka',
  'a certificate that is cut',
  kafka({ caCertificate: pem.slice(0, 40) }),
  'source.kafka.caCertificate must be PEM',
)
bad(
  'kafka',
  'a private key in place of a certificate',
  kafka({ caCertificate: pem.replaceAll('CERTIFICATE', 'PRIVATE KEY') }),
  'source.kafka.caCertificate must be PEM',
)
bad(
  'kafka',
  'an empty certificate',
  kafka({ caCertificate: '' }),
  'source.kafka.caCertificate must have 1 to 65536 characters',
)
bad('kafka', 'a certificate as a list', kafka({ caCertificate: [pem] }), 'source.kafka.caCertificate must be PEM')
good('kafka', 'two certificates', kafka({ caCertificate: `${pem}\r\n${pem}` }), JSON.stringify(`${pem}\r\n${pem}`))
good('kafka', 'certificate null', kafka({ caCertificate: null }), '"type":"kafka"')
bad('kafka', 'an empty role', kafka({ iamRole: '' }), 'source.kafka.iamRole must have 1 to 2048 characters')
bad(
  'kafka',
  'a role of 2,049 characters',
  kafka({ iamRole: 'r'.repeat(2049) }),
  'source.kafka.iamRole must have 1 to 2048 characters, not 2049',
)
bad(
  'kafka',
  'endpoints as text',
  kafka({ reversePrivateEndpointIds: 'a' }),
  'source.kafka.reversePrivateEndpointIds must be a list or null, not "a"',
)
bad(
  'kafka',
  '65 endpoints',
  kafka({ reversePrivateEndpointIds: Array.from({ length: 65 }, (_, at) => `e${at}`) }),
  'must have at most 64 items, not 65',
)
bad(
  'kafka',
  'an empty endpoint',
  kafka({ reversePrivateEndpointIds: [''] }),
  'source.kafka.reversePrivateEndpointIds[0] must have 1 to 255 characters',
)
bad(
  'kafka',
  'an endpoint of 256 characters',
  kafka({ reversePrivateEndpointIds: ['e'.repeat(256)] }),
  'must have 1 to 255 characters, not 256',
)
good(
  'kafka',
  '64 endpoints',
  kafka({ reversePrivateEndpointIds: Array.from({ length: 64 }, (_, at) => `e${at}`) }),
  '"e63"',
)
good('kafka', 'no endpoints', kafka({ reversePrivateEndpointIds: [] }), '"reversePrivateEndpointIds":[]')
bad(
  'kafka',
  'credentials as text',
  kafka({ credentials: password }),
  'source.kafka.credentials must be an object or null, not a string',
  { hides: password },
)
bad(
  'kafka',
  'credentials as a list',
  kafka({ credentials: [password] }),
  'source.kafka.credentials must be an object or null, not a list',
  { hides: password },
)
bad(
  'kafka',
  'an empty password',
  kafka({ credentials: { password: '' } }),
  'source.kafka.credentials.password must have 1 to 4096 characters',
)
bad(
  'kafka',
  'a password of 4,097 characters',
  kafka({ credentials: { password: password.repeat(274).slice(0, 4097) } }),
  'source.kafka.credentials.password must have 1 to 4096 characters',
  { hides: password },
)
bad(
  'kafka',
  'a password as a list',
  kafka({ credentials: { password: [password] } }),
  'source.kafka.credentials.password must be a string, not a list',
  { hides: password },
)
bad(
  'kafka',
  'a password as a number',
  kafka({ credentials: { password: 20202020 } }),
  'source.kafka.credentials.password must be a string, not a number',
  { hides: '20202020' },
)
bad(
  'kafka',
  'a user name of 1,025 characters',
  kafka({ credentials: { username: 'u'.repeat(1025) } }),
  'source.kafka.credentials.username must have 1 to 1024 characters',
)
bad(
  'kafka',
  'a misspelt password',
  kafka({ credentials: { pasword: password } }),
  'source.kafka.credentials.pasword is not a known field, did you mean "password"?',
  { hides: password },
)
bad('kafka', 'a password outside of credentials', kafka({ password }), 'source.kafka.password is not a known field', {
  hides: password,
})
bad(
  'kafka',
  'a password sent to another kind',
  { source: { postgres: { credentials: { password } } } },
  'source.postgres is invalid',
  { hides: password },
)
bad(
  'kafka',
  'credentials null where they are needed',
  kafka({ credentials: null }),
  'source.kafka.credentials must have username and password, because authentication is PLAIN',
)
good(
  'kafka',
  'a password of every ASCII character',
  kafka({ credentials: { password: String.fromCharCode(...Array.from({ length: 127 }, (_, at) => at + 1)) } }),
  '"authentication":"PLAIN"',
)
good(
  'kafka',
  'a password of emoji',
  kafka({ credentials: { password: emoji.repeat(4096) } }),
  '"authentication":"PLAIN"',
  { hides: emoji },
)

// Kinesis
const kinesis = (patch: object) => ({ source: { kinesis: patch } })
bad(
  'kinesis',
  'half an access key',
  kinesis({ accessKey: { accessKeyId: 'AKIAEXAMPLE' } }),
  'source.kinesis.accessKey must have secretKey, because authentication is IAM_USER',
  { hides: 'AKIAEXAMPLE' },
)
bad(
  'kinesis',
  'an access key as text',
  kinesis({ accessKey: password }),
  'source.kinesis.accessKey must be an object or null, not a string',
  { hides: password },
)
bad(
  'kinesis',
  'a secret key of 1,025 characters',
  kinesis({ accessKey: { secretKey: 's'.repeat(1025) } }),
  'source.kinesis.accessKey.secretKey must have 1 to 1024 characters',
)
bad(
  'kinesis',
  'an access key id null',
  kinesis({ accessKey: { accessKeyId: null } }),
  'source.kinesis.accessKey.accessKeyId must be a string, not null',
)
bad(
  'kinesis',
  'role null where it is needed',
  kinesis({ iamRole: null }),
  'source.kinesis.iamRole is required, because authentication is IAM_ROLE',
)
bad(
  'kinesis',
  'an authentication of Kafka',
  kinesis({ authentication: 'PLAIN' }),
  'source.kinesis.authentication must be one of IAM_ROLE, IAM_USER, not "PLAIN"',
)
bad(
  'kinesis',
  'another stream',
  kinesis({ streamName: 'x' }),
  'source.kinesis.streamName cannot be changed (it is "clicks")',
)
bad(
  'kinesis',
  'another time',
  kinesis({ timestamp: 1 }),
  'source.kinesis.timestamp cannot be changed (it is 1767225600)',
)
good(
  'kinesis',
  'a whole access key, which switches',
  kinesis({ accessKey: { accessKeyId: 'AKIAEXAMPLE', secretKey: password } }),
  '"authentication":"IAM_USER"',
  { hides: password },
)
good(
  'kinesis',
  'a new role, which switches back',
  kinesis({ iamRole: 'arn:aws:iam::1:role/x' }),
  '"authentication":"IAM_ROLE"',
)

// Object storage
const storage = (patch: object) => ({ source: { objectStorage: patch } })
bad(
  'objectStorage',
  'an empty connection string',
  storage({ connectionString: '' }),
  'source.objectStorage.connectionString must have 1 to 4096 characters',
)
bad(
  'objectStorage',
  'a connection string of 4,097 characters',
  storage({ connectionString: `AccountKey=${password}`.padEnd(4097, 'x') }),
  'must have 1 to 4096 characters',
  { hides: password },
)
bad(
  'objectStorage',
  'a connection string as a number',
  storage({ connectionString: 20202020 }),
  'source.objectStorage.connectionString must be "name=value" parts separated by ";" or null, not a number',
  { hides: '20202020' },
)
bad(
  'objectStorage',
  'a connection string with the mask',
  storage({ connectionString: 'AccountName=x;AccountKey=***' }),
  'has *** in place of its secret',
)
bad(
  'objectStorage',
  'CONNECTION_STRING for s3',
  storage({ authentication: 'CONNECTION_STRING' }),
  'source.objectStorage.authentication must be IAM_ROLE or IAM_USER for s3',
)
bad(
  'objectStorage',
  'IAM_USER without a key',
  storage({ authentication: 'IAM_USER' }),
  'source.objectStorage.accessKey must have accessKeyId and secretKey',
)
bad(
  'objectStorage',
  'role null where it is needed',
  storage({ iamRole: null }),
  'source.objectStorage.iamRole is required',
)
bad(
  'objectStorage',
  'a container of 256 characters',
  storage({ azureContainerName: 'c'.repeat(256) }),
  'source.objectStorage.azureContainerName must have 1 to 255 characters, not 256',
)
bad(
  'objectStorage',
  'a path of 1,025 characters',
  storage({ path: 'p'.repeat(1025) }),
  'source.objectStorage.path must have 1 to 1024 characters, not 1025',
)
bad(
  'objectStorage',
  'another URL',
  storage({ url: 'https://x.example/' }),
  'source.objectStorage.url cannot be changed',
)
bad(
  'objectStorage',
  'isContinuous as text',
  storage({ isContinuous: 'true' }),
  'source.objectStorage.isContinuous cannot be changed',
)
good(
  'objectStorage',
  'a connection string, masked',
  storage({ connectionString: `BlobEndpoint=https://x.example;SharedAccessSignature=sv=1&sig=${password}` }),
  'SharedAccessSignature=***',
  { hides: password },
)
bad(
  'objectStorage',
  'a URL as a connection string',
  storage({ connectionString: `https://x.example/?sv=1&sig=${password}&se=2` }),
  'source.objectStorage.connectionString must be "name=value" parts separated by ";" or null',
  { hides: password },
)
good(
  'objectStorage',
  'a signature in a URL, masked',
  storage({ connectionString: `BlobEndpoint=https://x.example/?sv=1&sig=${password}&se=2` }),
  'sig=***&se=2',
  { hides: password },
)
good('objectStorage', 'connection string null', storage({ connectionString: null }), '"type":"s3"', {
  hides: 'connectionString',
})
bad(
  'objectStorage',
  'authentication null, where a queue is read',
  storage({ authentication: null }),
  'source.objectStorage.authentication is required, because nobody reads a queue without credentials',
)
good(
  'objectStorage',
  'an access key, which switches',
  storage({ accessKey: { accessKeyId: 'a', secretKey: password } }),
  '"authentication":"IAM_USER"',
  { hides: password },
)
good('objectStorage', 'a glob', storage({ path: '**/{a,b}/[0-9]*.json' }), '**/{a,b}/[0-9]*.json')

// PostgreSQL
const postgres = (patch: object) => ({ source: { postgres: patch } })
for (const port of [0, 65_536, -1, 5432.5, '5432', null, true]) {
  bad(
    'postgres',
    `port ${JSON.stringify(port)}`,
    postgres({ port }),
    'source.postgres.port must be an integer between 1 and 65535, not ',
  )
}
good('postgres', 'port 1', postgres({ port: 1 }), '"port":1')
good('postgres', 'port 65535', postgres({ port: 65_535 }), '"port":65535')
for (const host of [
  'a b',
  'http://db',
  'db:5432',
  'db/x',
  '-db',
  'db-',
  '.db',
  'user@db',
  'bücher.example',
  'db\n',
  '%64b',
  '[::1]',
  ':::',
  '1:2',
  'a..b',
  'db.',
  'a.-b.example',
  '999.1.1.1',
  '1.2.3',
]) {
  bad(
    'postgres',
    `host ${JSON.stringify(host)}`,
    postgres({ host }),
    'source.postgres.host must be a host name or an IP address, not ',
  )
}
bad('postgres', 'an empty host', postgres({ host: '' }), 'source.postgres.host must have 1 to 253 characters, not 0')
bad(
  'postgres',
  'a host of 254 characters',
  postgres({ host: 'h'.repeat(254) }),
  'source.postgres.host must have 1 to 253 characters, not 254',
)
bad(
  'postgres',
  'host null',
  postgres({ host: null }),
  'source.postgres.host must be a host name or an IP address, not null',
)
for (const host of [
  'db',
  'db.example',
  '192.0.2.1',
  '::1',
  '2001:db8::1',
  'my_db-1.example',
  'xn--bcher-kva.example',
]) {
  good('postgres', `host ${host}`, postgres({ host }), `"host":"${host}"`)
}
bad(
  'postgres',
  'an empty database',
  postgres({ database: '' }),
  'source.postgres.database must have 1 to 255 characters',
)
bad('postgres', 'database null', postgres({ database: null }), 'source.postgres.database must be a string, not null')
good(
  'postgres',
  'a database of 255 characters',
  postgres({ database: 'd'.repeat(255) }),
  `"database":"${'d'.repeat(255)}"`,
)
bad(
  'postgres',
  'credentials null',
  postgres({ credentials: null }),
  'source.postgres.credentials must be an object, not null',
)
good('postgres', 'a new password alone', postgres({ credentials: { password } }), '"port":65535', { hides: password })
bad(
  'postgres',
  'another replication mode',
  postgres({ settings: { replicationMode: 'cdc' } }),
  'source.postgres.settings.replicationMode cannot be changed (it is "cdc_only")',
)
for (const setting of ['pullBatchSize', 'syncIntervalSeconds']) {
  const allowed = `source.postgres.settings.${setting} must be an integer between 1 and 2147483647 or null, not `
  bad('postgres', `${setting} 0`, postgres({ settings: { [setting]: 0 } }), `${allowed}0`)
  bad('postgres', `${setting} 2^31`, postgres({ settings: { [setting]: 2_147_483_648 } }), `${allowed}2147483648`)
  bad('postgres', `${setting} as text`, postgres({ settings: { [setting]: '1' } }), `${allowed}"1"`)
  good('postgres', `${setting} 1`, postgres({ settings: { [setting]: 1 } }), `"${setting}":1`)
  good(
    'postgres',
    `${setting} null`,
    postgres({ settings: { [setting]: null } }),
    `"${setting}":${setting === 'pullBatchSize' ? 100000 : 60}`,
  )
}
const table = { sourceSchemaName: 'public', sourceTable: 'items', targetTable: 'shop_items' }
const add = (...tableMappingsToAdd: unknown[]) => postgres({ tableMappingsToAdd })
const remove = (...tableMappingsToRemove: unknown[]) => postgres({ tableMappingsToRemove })
for (const name of ['sourceSchemaName', 'sourceTable', 'targetTable']) {
  const path = `source.postgres.tableMappingsToAdd[0].${name}`
  bad('postgres', `a table without ${name}`, add({ ...table, [name]: undefined }), `${path} is required`)
  bad(
    'postgres',
    `a table with an empty ${name}`,
    add({ ...table, [name]: '' }),
    `${path} must have 1 to 255 characters`,
  )
  bad('postgres', `a table with ${name} null`, add({ ...table, [name]: null }), `${path} must be a string, not null`)
}
bad(
  'postgres',
  'a table as text',
  add('public.items'),
  'source.postgres.tableMappingsToAdd[0] must be an object, not "public.items"',
)
bad(
  'postgres',
  'tables to add as an object',
  postgres({ tableMappingsToAdd: table }),
  'source.postgres.tableMappingsToAdd must be a list, not an object',
)
bad(
  'postgres',
  '1,001 tables',
  add(...Array.from({ length: 1001 }, (_, at) => ({ ...table, sourceTable: `t${at}`, targetTable: `t${at}` }))),
  'must have at most 1000 items, not 1001',
)
bad(
  'postgres',
  '1,000 tables on top of two',
  add(...Array.from({ length: 1000 }, (_, at) => ({ ...table, sourceTable: `t${at}`, targetTable: `t${at}` }))),
  'source.postgres.tableMappingsToAdd would give the pipe more than 1000 tables',
)
bad(
  'postgres',
  'a table that is there',
  add({ ...table, sourceTable: 'orders' }),
  'names public.orders, which the pipe has already',
)
bad(
  'postgres',
  'a table twice',
  add(table, { ...table, targetTable: 'x' }),
  'source.postgres.tableMappingsToAdd[1] names public.items a second time',
)
bad(
  'postgres',
  'a target that is taken',
  add({ ...table, targetTable: 'shop_orders' }),
  'source.postgres.tableMappingsToAdd[0].targetTable is "shop_orders", where public.orders goes already',
)
bad(
  'postgres',
  'an unknown engine',
  add({ ...table, tableEngine: 'Log' }),
  'must be one of MergeTree, ReplacingMergeTree, Null, not "Log"',
)
bad(
  'postgres',
  'a custom sorting key without one',
  add({ ...table, useCustomSortingKey: true }),
  'tableMappingsToAdd[0].sortingKeys is required, because useCustomSortingKey is true',
)
bad('postgres', 'a sorting key twice', add({ ...table, sortingKeys: ['a', 'a'] }), 'sortingKeys must not repeat "a"')
bad(
  'postgres',
  'a sorting key that is excluded',
  add({ ...table, sortingKeys: ['a', 'b'], excludedColumns: ['b'] }),
  'tableMappingsToAdd[0].excludedColumns has columns of the sorting key: b',
)
bad(
  'postgres',
  'a table with a stranger',
  add({ ...table, where: '1=1' }),
  'source.postgres.tableMappingsToAdd[0].where is not a known field',
)
bad(
  'postgres',
  'removal of a table that is not mapped',
  remove({ sourceSchemaName: 'public', sourceTable: 'nobody' }),
  'names public.nobody, which the pipe does not have',
)
bad(
  'postgres',
  'a removal with another target',
  remove({ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'x' }),
  'targetTable is "x", but public.orders goes to "shop_orders"',
)
bad(
  'postgres',
  'a removal of all',
  remove(
    { sourceSchemaName: 'public', sourceTable: 'orders' },
    { sourceSchemaName: 'public', sourceTable: 'customers' },
  ),
  'source.postgres.tableMappingsToRemove must leave the pipe at least one table',
)
bad(
  'postgres',
  'a removal twice',
  remove({ sourceSchemaName: 'public', sourceTable: 'orders' }, { sourceSchemaName: 'public', sourceTable: 'orders' }),
  'tableMappingsToRemove[1] names public.orders, which the pipe does not have',
)
bad(
  'postgres',
  'the mappings themselves, changed',
  postgres({ tableMappings: [] }),
  'source.postgres.tableMappings cannot be changed; send tableMappingsToAdd and tableMappingsToRemove',
)
good(
  'postgres',
  'a replacement in one request',
  {
    source: {
      postgres: {
        tableMappingsToRemove: [{ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'shop_orders' }],
        tableMappingsToAdd: [{ ...table, sourceTable: 'orders', targetTable: 'orders_2' }],
      },
    },
  },
  '"targetTable":"orders_2"',
)
good(
  'postgres',
  'names that only look alike when joined',
  add(
    { sourceSchemaName: 'a.b', sourceTable: 'c', targetTable: 't1' },
    { sourceSchemaName: 'a', sourceTable: 'b.c', targetTable: 't2' },
  ),
  '"targetTable":"t2"',
)
good(
  'postgres',
  'a table named __proto__',
  add({ sourceSchemaName: '__proto__', sourceTable: 'constructor', targetTable: 'toString' }),
  '"sourceSchemaName":"__proto__"',
)

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
