import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findInCode, findInMarkdown } from './words.ts'

describe('the word check', () => {
  const lines = (found: { line: number; words: string }[]) => found.map(({ line, words }) => `${line} ${words}`)

  it('finds words in comments of both kinds, with their line', () => {
    const code =
      "const one = 1\n// Tells the caller.\n/**\n * Limit, 100 unless told.\n */\nconst url = 'http://told'\n"
    assert.deepEqual(lines(findInCode(code)), ['2 Tells', '4 unless told', '4 told'])
  })

  it('finds words in sentences of the code, not in names, short texts or what a template inserts', () => {
    const code = [
      "throw new Error('the body does not fit the schema')",
      "const kind = 'told'",
      'const told = moment(place)',
      'log.info(`started by $' + '{told.anew} within two seconds`)',
      '// The field `told` is a name.',
    ].join('\n')
    assert.deepEqual(lines(findInCode(code)), ['1 does not fit'])
  })

  it('requires a noun phrase or an imperative in the header of a file', () => {
    assert.deepEqual(lines(findInCode('// What a worker counts.\n')), ['1 What a worker counts.'])
    assert.deepEqual(findInCode('// Counters of a worker.\n// What is left is zero.\n'), [])
  })

  it('finds words in Markdown, outside of code', () => {
    const text = 'Told at once.\n\n```sh\necho told\n```\n\nThe field `told` is a name, made anew.\n'
    assert.deepEqual(lines(findInMarkdown(text)), ['1 Told', '7 anew'])
  })
})
