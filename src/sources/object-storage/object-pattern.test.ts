import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { maxRanges, maxWildcards, PatternTooLarge, parsePattern } from './object-pattern.ts'

const inUrl = (text: string) => parsePattern(text, { isUrl: true })

describe('the pattern of objects', () => {
  const cases: [pattern: string, taken: string[], left: string[]][] = [
    ['a/b.json', ['a/b.json'], ['a/b.json2', 'a/b', 'a/bxjson', 'xa/b.json']],
    ['a/?.json', ['a/b.json', 'a/😀.json'], ['a/.json', 'a/bb.json', 'a//.json']],
    ['a/*.json', ['a/.json', 'a/b.json', 'a/b.c.json'], ['a/b/c.json', 'a/b.jso']],
    ['a/**.json', ['a/b/c.json', 'a/.json', 'a/b.json'], ['b/a.json', 'a/b']],
    ['**', ['a', 'a/b', ''], []],
    ['a/***/c', ['a/b/c', 'a/x/y/c'], ['a/c']],
    ['*', ['a', ''], ['a/b']],
    ['{a,b}/x', ['a/x', 'b/x'], ['c/x', '{a,b}/x']],
    ['{a,b*}/x', ['a/x', 'bcd/x'], ['b/c/x']],
    ['{a,}x', ['ax', 'x'], ['bx']],
    ['{a,{b,c}d}', ['a', 'bd', 'cd'], ['b', 'ad']],
    ['f{1..3}', ['f1', 'f2', 'f3'], ['f0', 'f4', 'f01', 'f', 'f11']],
    ['f{8..11}.gz', ['f8.gz', 'f11.gz'], ['f08.gz', 'f12.gz', 'f1.gz']],
    ['f{08..11}', ['f08', 'f11'], ['f8', 'f12', 'f008']],
    ['f{3..1}', ['f1', 'f3'], ['f4']],
    ['f{1..012}', ['f001', 'f012'], ['f1', 'f12', 'f013', 'f000']],
    ['f{95..1005}', ['f95', 'f100', 'f999', 'f1000', 'f1005'], ['f94', 'f9', 'f1006', 'f0999', 'f2000']],
    ['f{0..10}', ['f0', 'f10'], ['f00', 'f11']],
    ['f{1..12}2', ['f12', 'f122', 'f22'], ['f2', 'f132']],
    ['{a}', ['{a}'], ['a']],
    ['a{b', ['a{b'], ['ab']],
    ['a}b,[c]+(d)$', ['a}b,[c]+(d)$'], ['a}b,c+(d)$']],
    ['', ['a', 'a/b'], []],
    ['a/', ['a/b', 'a/b/c'], ['b', 'a']],
    ['a%20b%2A?', ['a b*c'], ['a bcc', 'a%20b*c']],
    ['100%', ['100%'], ['100']],
    ['%ff*', ['%ffa'], ['ÿa']],
    ['a+b', ['a+b'], ['a b']],
    ['%7Ba,b%7D', ['{a,b}'], ['a', 'b']],
    ['é%C3%A9', ['éé'], ['é']],
  ]
  for (const [text, taken, left] of cases) {
    it(`${JSON.stringify(text)} matches as documented`, () => {
      const pattern = inUrl(text)
      for (const key of taken) assert.ok(pattern.matches(key), `takes ${key}`)
      for (const key of left) assert.ok(!pattern.matches(key), `leaves ${key}`)
    })
  }

  it('is not decoded if it is not a URL', () => {
    const pattern = parsePattern('a%20b*', { isUrl: false })
    assert.ok(pattern.matches('a%20bc'))
    assert.ok(!pattern.matches('a bc'))
  })

  it('has the longest literal prefix, and reports whether it is literal', () => {
    const summaryOf = (text: string) => {
      const { prefix, isLiteral, text: shown } = inUrl(text)
      return [prefix, isLiteral, shown]
    }
    assert.deepEqual(summaryOf('a/b%20c'), ['a/b c', true, 'a/b c'])
    assert.deepEqual(summaryOf('a/b*c'), ['a/b', false, 'a/b*c'])
    assert.deepEqual(summaryOf('a/%2Ab'), ['a/*b', true, 'a/*b'])
    assert.deepEqual(summaryOf('*a'), ['', false, '*a'])
    assert.deepEqual(summaryOf('a/'), ['a/', false, 'a/'])
    assert.deepEqual(summaryOf(''), ['', false, ''])
    assert.deepEqual(summaryOf('x{1..2}'), ['x', false, 'x{1..2}'])
  })

  it('is rejected with too many wildcards', () => {
    assert.ok(inUrl('*a'.repeat(maxWildcards)).matches('a'.repeat(maxWildcards)))
    assert.throws(() => inUrl('*a'.repeat(maxWildcards + 1)), PatternTooLarge)
    assert.throws(() => inUrl(`{${'a,'.repeat(maxWildcards)}}`), PatternTooLarge)
    assert.ok(inUrl('{1..9}'.repeat(maxRanges)).matches('5'.repeat(maxRanges)))
    assert.throws(() => inUrl(`${'{1..9}'.repeat(maxRanges)}{a,{b,{1..9}}}`), PatternTooLarge)
  })

  it('matches no key that is longer than the limit of stores', () => {
    assert.ok(inUrl('**').matches('é'.repeat(1024)))
    assert.ok(!inUrl('**?**').matches('a'.repeat(300_000)))
  })

  it('matches in little time', () => {
    const key = 'a'.repeat(1024)
    const startedAtMs = performance.now()
    for (const text of ['**a'.repeat(60), '*a'.repeat(100), '{a,aa,*}'.repeat(40), '{0..999999999}*'.repeat(10)]) {
      assert.ok(!inUrl(`${text}b`).matches(key))
    }
    assert.ok(performance.now() - startedAtMs < 5_000)
  })

  it('matches the same keys as a naive implementation', () => {
    const piece = fc.constantFrom('a', 'b', '/', '?', '*', '**', '{a,b}', '{ab,}', '{/,a*}', '{1..3}', '1', '2', '.')
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '/', '1', '2', '.'), maxLength: 8 })
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 7 }), key, (pieces, text) => {
        const pattern = pieces.join('')
        fc.pre(!pattern.includes('***') && pattern !== '' && !pattern.endsWith('/'))
        assert.equal(inUrl(pattern).matches(text), naiveMatch(pattern, text), `${pattern} ${text}`)
      }),
      { numRuns: 3_000 },
    )
  })
})

/** Expands the braces, then tries every way. */
function naiveMatch(pattern: string, key: string): boolean {
  const [braces, list] = /\{([^{}]*)\}/.exec(pattern) ?? []
  if (braces !== undefined && list !== undefined) {
    const [low, high] = list.split('..').map(Number)
    const options = list.includes('..')
      ? Array.from({ length: high! - low! + 1 }, (_, index) => String(low! + index))
      : list.split(',')
    return options.some((option) => naiveMatch(pattern.replace(braces, bracket(option)), key))
  }
  return matchFrom(pattern, key)
}

/** A star at the end of an alternative must not join a star that follows it. */
function bracket(option: string): string {
  return `\u0000${option}\u0000`
}

function matchFrom(pattern: string, key: string): boolean {
  if (pattern === '') return key === ''
  if (pattern[0] === '\u0000') return matchFrom(pattern.slice(1), key)
  if (pattern.startsWith('**')) {
    return matchFrom(pattern.slice(2), key) || (key !== '' && matchFrom(pattern, key.slice(1)))
  }
  if (pattern[0] === '*') {
    return matchFrom(pattern.slice(1), key) || (key !== '' && key[0] !== '/' && matchFrom(pattern, key.slice(1)))
  }
  if (key === '') return false
  const isSame = pattern[0] === '?' ? key[0] !== '/' : pattern[0] === key[0]
  return isSame && matchFrom(pattern.slice(1), key.slice(1))
}
