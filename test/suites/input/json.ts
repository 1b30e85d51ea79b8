// Input table: malformed, ambiguous and unusual JSON.
import { type Line, openTable, password } from './line.ts'

export const jsonLines: Line[] = []
const { badText, goodText } = openTable(jsonLines)

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
jsonLines.push({
  name: 'a body of 1 MiB and a byte',
  to: 'member',
  text: `{"role":"developer"${' '.repeat(1_048_576 - 19)}}`,
  status: 413,
  says: 'the body is larger than 1048576 bytes',
})
