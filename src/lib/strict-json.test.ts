import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Problem } from './problem.ts'
import { parseStrictJson } from './strict-json.ts'

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

const accepted = [
  '{}',
  '[]',
  ' \t\r\n{ "a" : [ 1 , -2.5e-3 , 0 , -0 , 1E+2 , true , false , null , "" ] } \n',
  '"text"',
  '0',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\uD83D\\uDE00 raw 😀 é \u2028 \u007f"',
  '{"constructor":1,"prototype":2,"toString":3,"hasOwnProperty":4,"":5}',
  '{"z":1,"a":2,"m":{"y":1,"b":2}}',
  '9007199254740991',
  '-9007199254740991',
  '1e300',
  '1e-400',
  '0.1',
  '123456789012345678901234567890.5',
  nested(32),
]

const refused: [text: string, sentence: string][] = [
  ['', 'the body is empty; send a JSON object'],
  [' \n\t ', 'the body is empty; send a JSON object'],
  ['\ufeff{}', 'the body is not valid JSON at line 1, column 1: expected a value'],
  ['{', 'the body is not valid JSON at line 1, column 2: expected a key in double quotes or }, but the body ends'],
  ["{'a': 1}", 'the body is not valid JSON at line 1, column 2: expected a key in double quotes or }'],
  ['{a: 1}', 'the body is not valid JSON at line 1, column 2: expected a key in double quotes or }'],
  ['{"a": 1,}', 'the body is not valid JSON at line 1, column 9: expected a key in double quotes'],
  ['{"a" 1}', 'the body is not valid JSON at line 1, column 6: expected a colon'],
  ['{"a": }', 'the body is not valid JSON at line 1, column 7 (in a): expected a value'],
  ['{"a": tru}', 'the body is not valid JSON at line 1, column 7 (in a): expected a value'],
  ['{"a": 1 "b": 2}', 'the body is not valid JSON at line 1, column 9: expected a comma or }'],
  [
    '{"source":\n {"kafka": {"topics": "a" "b"}}}',
    'the body is not valid JSON at line 2, column 27 (in source.kafka): expected a comma or }',
  ],
  ['[1, 2', 'the body is not valid JSON at line 1, column 6: expected a comma or ], but the body ends'],
  ['[1, ]', 'the body is not valid JSON at line 1, column 5 (in [1]): expected a value'],
  [
    '{"columns":[{},{},{"name":x}]}',
    'the body is not valid JSON at line 1, column 27 (in columns[2].name): expected a value',
  ],
  ['"abc', 'the body is not valid JSON at line 1, column 5: expected the closing quote of a string, but the body ends'],
  ['"a\nb"', 'the body is not valid JSON at line 1, column 3: expected control characters in a string to be escaped'],
  ['"\\x41"', 'the body is not valid JSON at line 1, column 2: expected an escape that JSON knows, such as \\n'],
  ['"\\', 'the body is not valid JSON at line 1, column 2: expected an escape that JSON knows, such as \\n'],
  ['"\\u00g0"', 'the body is not valid JSON at line 1, column 6: expected four hexadecimal digits'],
  ['"\\u00', 'the body is not valid JSON at line 1, column 6: expected four hexadecimal digits, but the body ends'],
  ['-', 'the body is not valid JSON at line 1, column 2: expected a digit, but the body ends'],
  ['+1', 'the body is not valid JSON at line 1, column 1: expected a value'],
  ['.5', 'the body is not valid JSON at line 1, column 1: expected a value'],
  ['1.', 'the body is not valid JSON at line 1, column 3: expected a digit, but the body ends'],
  ['1e+', 'the body is not valid JSON at line 1, column 4: expected a digit, but the body ends'],
  ['012', 'the body is not valid JSON at line 1, column 2: expected a number without leading zeros'],
  ['NaN', 'the body is not valid JSON at line 1, column 1: expected a value'],
  ['{} {}', 'the body is not valid JSON at line 1, column 4: expected nothing after the value'],
  ['{}\0', 'the body is not valid JSON at line 1, column 3: expected nothing after the value'],
  ['{"a":1,"a":1}', 'a is sent twice (line 1, column 8)'],
  ['{"source":{"kafka":{"a":1,\n"\\u0061":2}}}', 'source.kafka.a is sent twice (line 2, column 1)'],
  ['{"a b":{"c":1,"c":1}}', '"a b".c is sent twice (line 1, column 15)'],
  ['{"a":[{"x-y":1,"x-y":1}]}', 'a[0]["x-y"] is sent twice (line 1, column 16)'],
  [
    `{"${'k'.repeat(70)}":01}`,
    `the body is not valid JSON at line 1, column 76 (in ${'k'.repeat(64)}…): expected a number without leading zeros`,
  ],
  ['{"__proto__":{"admin":true}}', 'the key __proto__ is not allowed (line 1, column 2)'],
  ['{"a":{"\\u005f_proto__":1}}', 'the key __proto__ is not allowed (line 1, column 7)'],
  ['{"a":"x\\u0000y"}', 'a contains the character U+0000, which is not allowed (line 1, column 6)'],
  ['{"a":"x\0y"}', 'a contains the character U+0000, which is not allowed (line 1, column 6)'],
  ['{"\\u0000":1}', 'a key in the body contains the character U+0000, which is not allowed (line 1, column 2)'],
  [
    '{"a":{"\\ud800":1}}',
    'a key in a contains half a character (a lone surrogate), which is not allowed (line 1, column 7)',
  ],
  ['"\\uD83D"', 'the body contains half a character (a lone surrogate), which is not allowed (line 1, column 1)'],
  [
    '"\\uDE00\\uD83D"',
    'the body contains half a character (a lone surrogate), which is not allowed (line 1, column 1)',
  ],
  ['["\ud83d"]', '[0] contains half a character (a lone surrogate), which is not allowed (line 1, column 2)'],
  ['9007199254740992', 'the body is an integer beyond 9007199254740991, which would lose digits (line 1, column 1)'],
  [
    '{"id":-12345678901234567890}',
    'id is an integer beyond 9007199254740991, which would lose digits (line 1, column 7)',
  ],
  ['{"n":1e400}', 'n is too large a number (line 1, column 6)'],
  ['[-1.5e999]', '[0] is too large a number (line 1, column 2)'],
  [nested(33), 'the body is nested deeper than 32 levels (line 1, column 33)'],
  ['{"a":'.repeat(100_000), 'the body is nested deeper than 32 levels (line 1, column 161)'],
]

function refusalOf(text: string): Problem {
  try {
    parseStrictJson(text)
  } catch (err) {
    assert.ok(err instanceof Problem, String(err))
    assert.equal(err.code, 'invalid_json')
    return err
  }
  return assert.fail('was accepted')
}

describe('parseStrictJson', () => {
  for (const text of accepted) {
    it(`accepts ${JSON.stringify(text).slice(0, 60)}`, () => {
      assert.deepStrictEqual(parseStrictJson(text), JSON.parse(text))
    })
  }

  for (const [text, sentence] of refused) {
    it(`refuses ${JSON.stringify(text).slice(0, 60)}`, () => {
      assert.equal(refusalOf(text).message, sentence)
    })
  }

  it('keeps the order of the keys', () => {
    const value = parseStrictJson('{"z":1,"a":2,"m":3}') as object
    assert.deepEqual(Object.keys(value), ['z', 'a', 'm'])
  })

  it('never quotes a value or broken text', () => {
    const broken = [
      '{"password":"hunter2" "x":1}',
      '{"password":hunter2}',
      '{"password":"hunter2',
      '{"password":"hunter2\n"}',
      '{"password":"hunter2\\u0000"}',
      '{"password":"hunter2\\q"}',
      '{"password":"a","password":"hunter2"}',
      '{"password: "hunter2": 1}',
      '{"a":1, hunter2}',
      '{"a":1} hunter2',
    ]
    for (const text of broken) assert.doesNotMatch(refusalOf(text).message, /hunter/)
  })

  it('returns what JSON.parse returns for every value it accepts', () => {
    const plain = (text: string) => text.isWellFormed() && !text.includes('\0') && text !== '__proto__'
    const text = fc.string({ unit: 'grapheme' }).filter(plain)
    const number = fc
      .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger())
      .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value))
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 6 }, text, number, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
      list: fc.array(tie('value')),
      object: fc.dictionary(text, tie('value'), { noNullPrototype: true }),
    }))
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2, '\t'), (sent, indent) => {
        const written = JSON.stringify(sent, null, indent)
        assert.deepStrictEqual(parseStrictJson(written), JSON.parse(written))
      }),
      { numRuns: 500 },
    )
  })

  it('throws a Problem or agrees with JSON.parse, whatever the text', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"',
      '\\',
      '\\u',
      '00',
      'd83d',
      'e',
      '-',
      '.',
      '1',
      'true',
      'null',
      ' ',
      '\n',
      '"a"',
      '\0',
    ]
    const edit = fc.record({
      at: fc.nat(400),
      remove: fc.nat(4),
      insert: fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 2 })),
    })
    const mutated = fc.tuple(fc.json({ stringUnit: 'binary' }), fc.array(edit, { maxLength: 4 })).map(([text, edits]) =>
      edits.reduce((result, { at, remove, insert }) => {
        const from = at % (result.length + 1)
        return result.slice(0, from) + insert + result.slice(from + remove)
      }, text),
    )
    const soup = fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(mutated, soup), (text) => {
        let parsed: unknown
        try {
          parsed = parseStrictJson(text)
        } catch (err) {
          assert.ok(err instanceof Problem, String(err))
          return
        }
        assert.deepStrictEqual(parsed, JSON.parse(text))
      }),
      { numRuns: 5000 },
    )
  })
})
