import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findBrokenCitations, findBrokenLinks } from './links.ts'

describe('the link check', () => {
  const pages: Record<string, string> = { 'docs/a.md': '# One `two`\n## Next\n## Next\n', 'docs/images': '' }
  const targets = (markdown: string): string[] =>
    findBrokenLinks('docs/b.md', markdown, (file) => pages[file]).map(({ line, target }) => `${line} ${target}`)

  it('follows relative links, anchors and repeated headings', () => {
    assert.deepEqual(
      targets('[x](a.md) [x](a.md#one-two) [x](a.md#next-1) [x](images/) [x](https://example.com/y)'),
      [],
    )
  })

  it('finds pages and headings that do not exist, with their line', () => {
    assert.deepEqual(targets('[x](c.md)\n\n[x](a.md#next-2) ![x](images/z.png)\n'), [
      '1 c.md',
      '3 a.md#next-2',
      '3 images/z.png',
    ])
  })

  it('leaves code out', () => {
    assert.deepEqual(targets('`[x](c.md)`\n```\n[x](c.md)\n```\n'), [])
  })

  it('finds pages that code cites and that do not exist', () => {
    const cited = findBrokenCitations('// docs/a.md\n// docs/how-to/c.md\n', (file) => file in pages)
    assert.deepEqual(cited, [{ line: 2, target: 'docs/how-to/c.md', problem: 'does not exist' }])
  })
})
