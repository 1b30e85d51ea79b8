import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Token, Tokens } from '../../test/fakes/paper-engine/tokens.ts'
import { EngineError, type EngineTable } from './engine.ts'
import { checkExpression } from './expressions.ts'
import { quoteName, quoteText } from './names.ts'
import { addColumnStatement, createTableStatement, describeTableStatement } from './table-statements.ts'
import { checkType, isSameType } from './types.ts'

/** The tokens that ClickHouse reads in a statement. */
function tokensOf(text: string): Token[] {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  const tokens = new Tokens(bytes)
  const all: Token[] = []
  let end = 0
  while (tokens.peek().kind !== 'end') {
    const token = tokens.take()
    // Between tokens there is at most one space: no comment, no newline.
    assert.ok(['', ' '].includes(bytes.slice(end, token.begin)), text)
    all.push(token)
    end = token.end
  }
  return all
}

const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Injection attempts. */
const injection = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom("'", '`', '"', '\\', '\0', '\n', ';', '-', '/', '*', ')', '(', ',', ' ', 'x', 'é', '\ud800'),
  }),
  fc.constantFrom(
    "'; DROP TABLE t; --",
    '`; DROP TABLE t; --',
    "\\'; DROP TABLE t; --",
    '\\`) ENGINE = Memory; --',
    'String) ENGINE = Memory --',
    'String DEFAULT (SELECT 1)',
    'UInt8 /* */, b UInt8',
    'String, `b` String',
    "String COMMENT 'x'",
    'String CODEC(ZSTD(1))',
    'String TTL now()',
    'id) SETTINGS a = 1',
    '(SELECT 1)',
    '((SELECT 1))',
    'select(1)',
    'x -> x',
    'a; SELECT 1',
    'a -- b',
    'a /* b */',
    'a FROM b',
    '{p:UInt8}',
    'file("/etc/passwd")',
    "a = 'x' OR 1",
    '$$x$$',
  ),
)

function resultOf(work: () => string): string | undefined {
  try {
    return work()
  } catch (error) {
    assert.ok(error instanceof EngineError, String(error))
    assert.equal(error.kind, 'user')
    return undefined
  }
}

const typeText = fc.oneof(
  injection,
  fc.constantFrom(
    'String',
    'Nullable(UInt64)',
    "Enum('a', 'b\\'')",
    'Array(Tuple(a String, `b` UInt8))',
    "DateTime('UTC')",
  ),
  injection.map((text) => `Enum8(${quoteText(text)} = 1)`),
  injection.map((text) => `Tuple(${quoteName(text)} String)`),
  injection.map((text) => `DateTime('${text}')`),
)
const expressionText = fc.oneof(
  injection,
  fc.constantFrom('toYYYYMM(at)', '(a, b)', "f('x', 1 - -1)"),
  injection.map((text) => `f(${text})`),
  injection.map((text) => `f(${quoteText(text)}, ${quoteName(text)})`),
)

describe('names and texts in statements', () => {
  it('are one token each, and mean what they were', () => {
    fc.assert(
      fc.property(injection, (text) => {
        const [name, ...others] = tokensOf(quoteName(text))
        assert.deepEqual([name!.kind, name!.value, others.length], ['name', asBytes(text), 0])
        const [literal, ...more] = tokensOf(quoteText(text))
        assert.deepEqual([literal!.kind, literal!.value, more.length], ['text', asBytes(text), 0])
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('checkType', () => {
  it('takes the types of ClickHouse and writes them as it does', () => {
    for (const [text, canonical] of [
      ['UInt64', 'UInt64'],
      [' Nullable( String ) ', 'Nullable(String)'],
      ['LowCardinality(Nullable(String))', 'LowCardinality(Nullable(String))'],
      ['Array(Array(Nullable(Int32)))', 'Array(Array(Nullable(Int32)))'],
      ['Map(LowCardinality(String),Array(UInt8))', 'Map(LowCardinality(String), Array(UInt8))'],
      ['FixedString(16)', 'FixedString(16)'],
      ['Decimal(18,4)', 'Decimal(18, 4)'],
      ['Decimal64(4)', 'Decimal(18, 4)'],
      ['Decimal(5)', 'Decimal(5, 0)'],
      ['DateTime', 'DateTime'],
      ["DateTime('Europe/Berlin')", "DateTime('Europe/Berlin')"],
      ['DateTime64', 'DateTime64(3)'],
      ["DateTime64(6, 'UTC')", "DateTime64(6, 'UTC')"],
      ["Enum8('a'=1,'b' = -2)", "Enum8('b' = -2, 'a' = 1)"],
      ["Enum('it\\'s', 'b''c')", "Enum8('it\\'s' = 1, 'b\\'c' = 2)"],
      ["Enum16('a' = 1000)", "Enum16('a' = 1000)"],
      ['Tuple(UInt8, String)', 'Tuple(UInt8, String)'],
      ['Tuple(a UInt8, `b c` Tuple(d String))', 'Tuple(a UInt8, `b c` Tuple(d String))'],
      ['Nested(a UInt8, b Array(String))', 'Nested(a UInt8, b Array(String))'],
      ['Variant(UInt64, Array(String))', 'Variant(Array(String), UInt64)'],
      ['Dynamic', 'Dynamic'],
      ['Dynamic(max_types=5)', 'Dynamic(max_types=5)'],
      ['JSON', 'JSON'],
      [
        "JSON(SKIP c.d, a.b UInt32, SKIP REGEXP 'x.*', max_dynamic_paths = 5)",
        "JSON(max_dynamic_paths=5, `a.b` UInt32, SKIP `c.d`, SKIP REGEXP 'x.*')",
      ],
      ['SimpleAggregateFunction(sum, UInt64)', 'SimpleAggregateFunction(sum, UInt64)'],
      ['AggregateFunction(quantiles(0.5, 0.9), Float64)', 'AggregateFunction(quantiles(0.5, 0.9), Float64)'],
      ['AggregateFunction(count)', 'AggregateFunction(count)'],
      ['varchar', 'String'],
      ['bigint', 'Int64'],
      ['Point', 'Point'],
      ['IPv6', 'IPv6'],
    ] as const) {
      assert.equal(checkType(text), canonical)
      assert.equal(checkType(canonical), canonical)
    }
  })

  it('refuses everything else, and says which column it is', () => {
    for (const text of [
      '',
      ' ',
      'Strin',
      'String DEFAULT 1',
      'String)',
      'Array(String',
      'Array()',
      'Array(String, String)',
      'FixedString',
      'FixedString(x)',
      'FixedString(0)',
      'Decimal(100, 2)',
      'Enum8()',
      'Enum8(a)',
      'DateTime(now())',
      'Nullable(String); DROP TABLE t',
      'String -- comment',
      'String /* comment */',
      "Enum8('a' = (SELECT 1))",
      'AggregateFunction(sum(x), UInt64)',
      `${'Array('.repeat(100)}String${')'.repeat(100)}`,
      `${'Array('.repeat(10_000)}String`,
      '{t:Identifier}',
    ]) {
      assert.throws(
        () => checkType(text, 'the column'),
        (error) => error instanceof EngineError && error.kind === 'user' && error.message.includes('"the column"'),
        text,
      )
    }
  })

  it('finds two texts of one type alike', () => {
    assert.ok(isSameType("Enum('b' = 2, 'a' = 1)", "Enum8('a'=1, 'b'=2)"))
    assert.ok(isSameType('Decimal32(2)', 'Decimal(9, 2)'))
    assert.ok(!isSameType('Decimal32(2)', 'Decimal(9, 3)'))
    assert.ok(!isSameType('Nullable(String)', 'String'))
    assert.ok(isSameType('TypeOfTomorrow(1)', 'TypeOfTomorrow(1)'))
    assert.ok(!isSameType('TypeOfTomorrow(1)', 'String'))
  })
})

describe('checkExpression', () => {
  it('takes columns, functions, literals, arithmetic and tuples', () => {
    for (const [text, written] of [
      ['id', '`id`'],
      ['id, at', 'tuple(`id`, `at`)'],
      ['(id, at)', 'tuple(`id`, `at`)'],
      ['tuple()', 'tuple()'],
      ['toYYYYMM(at)', 'toYYYYMM(`at`)'],
      ['(toYYYYMM(at), cityHash64(id) % 16)', 'tuple(toYYYYMM(`at`), cityHash64(`id`) % 16)'],
      ["toStartOfInterval(at, INTERVAL 5 minute, 'UTC')", "toStartOfInterval(`at`, toIntervalMinute(5), 'UTC')"],
      ['-a - -1', 'negate(`a`) - -1'],
      ['--a', 'negate(negate(`a`))'],
      ['intDiv(`a b`, 10.5) * (c + 1)', 'intDiv(`a b`, 10.5) * (`c` + 1)'],
      ['n.a', '`n`.`a`'],
      ['select', '`select`'],
    ] as const) {
      assert.equal(checkExpression(text), written)
    }
  })

  it('refuses everything else', () => {
    for (const text of [
      '',
      ',',
      'a b',
      'a,',
      '(a',
      'a)',
      'f(a',
      '(SELECT 1)',
      'a IN (1)',
      'x -> x + 1',
      'select(1)',
      'a; b',
      "a || 'b'",
      "'unfinished",
      'a[1]',
      'a -',
      '"" + 1',
      '('.repeat(1_000),
      '-'.repeat(1_000),
      'f('.repeat(1_000),
    ]) {
      assert.throws(() => checkExpression(text, 'partitionBy'), EngineError, text)
    }
  })
})

describe('statements that define tables', () => {
  it('have the shape of their template, whatever the names, types and expressions are', () => {
    let made = 0
    fc.assert(
      fc.property(
        injection,
        injection,
        injection,
        typeText,
        expressionText,
        expressionText,
        (database, table, name, type, partitionBy, primaryKey) => {
          const target: EngineTable = {
            database,
            table,
            columns: [
              { name, type },
              { name: 'second', type: 'String' },
            ],
          }
          const definition = {
            engine: { type: 'MergeTree' as const },
            partitionBy,
            primaryKey,
            sortingKey: [name, table],
          }
          const options = { hasMarker: false, hasTokenWindow: true }
          const text = resultOf(() => createTableStatement(target, definition, options))
          if (text !== undefined) {
            made++
            assert.ok(
              hasShape(tokensOf(text), [
                ...'CREATE TABLE IF NOT EXISTS'.split(' '),
                'a name',
                '.',
                'a name',
                '(',
                'a name',
                'a type',
                ',',
                'a name',
                'String',
                ')',
                ...'ENGINE = MergeTree ( ) PARTITION BY'.split(' '),
                'an expression',
                'PRIMARY',
                'KEY',
                'an expression',
                ...'ORDER BY ('.split(' '),
                'a name',
                ',',
                'a name',
                ')',
                ...'SETTINGS non_replicated_deduplication_window = 10000'.split(' '),
              ]),
              text,
            )
          }
          const added = resultOf(() => addColumnStatement(target, { name, type }, { mayBeThere: false }))
          if (added !== undefined) {
            assert.ok(
              hasShape(tokensOf(added), [
                ...'ALTER TABLE'.split(' '),
                'a name',
                '.',
                'a name',
                'ADD',
                'COLUMN',
                'a name',
                'a type',
              ]),
              added,
            )
          }
          assert.ok(
            hasShape(tokensOf(describeTableStatement(target)), [
              ...'SELECT engine , engine_full , partition_key FROM system . tables WHERE database ='.split(' '),
              'a text',
              ...'AND name ='.split(' '),
              'a text',
              'FORMAT',
              'JSONEachRow',
            ]),
          )
        },
      ),
      { numRuns: 5_000 },
    )
    assert.ok(made > 50, `only ${made} were made`)
  })

  it('types and expressions that come out go in again, and come out the same', () => {
    fc.assert(
      fc.property(typeText, expressionText, (type, expression) => {
        const checked = resultOf(() => checkType(type))
        if (checked !== undefined) assert.equal(checkType(checked), checked)
        const written = resultOf(() => checkExpression(expression))
        if (written !== undefined) assert.equal(checkExpression(written), written)
      }),
      { numRuns: 5_000 },
    )
  })
})

/** Template of a statement; placeholders stand for user text. */
type Shape = (string | 'a type' | 'an expression')[]

/** Whether the tokens match the template; types and expressions can be any tokens with balanced brackets. */
function hasShape(tokens: Token[], shape: Shape): boolean {
  let at = 0
  for (const part of shape) {
    if (part === 'a type' || part === 'an expression') {
      const end = endOfPart(tokens, at)
      if (end === at) return false
      at = end
    } else {
      const token = tokens[at++]
      if (!token) return false
      const shown = token.kind === 'name' ? 'a name' : token.kind === 'text' ? 'a text' : token.value
      if (shown !== part) return false
    }
  }
  return at === tokens.length
}

/** A part ends at an unmatched closing bracket, at a comma outside brackets, or where the template continues. */
function endOfPart(tokens: Token[], from: number): number {
  let depth = 0
  for (let at = from; at < tokens.length; at++) {
    const { kind, value } = tokens[at]!
    if (kind === 'word' && /^(?:PARTITION|PRIMARY|ORDER|SETTINGS|SELECT|FROM|INTO|DROP|ALTER|ENGINE|AS)$/i.test(value))
      return at
    if (kind !== 'sign') continue
    assert.ok(!';{}[]<>:|&!@$^~?'.includes(value), `${value} in a statement`)
    if (value === '(') depth++
    if (depth === 0 && (value === ')' || value === ',')) return at
    if (value === ')') depth--
  }
  return tokens.length
}
