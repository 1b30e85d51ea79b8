import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { assertLinearWork } from '../../../test/harness/work-growth.ts'
import { type AnswerHead, readHead } from './answer-head.ts'
import type { DirectConnection } from './direct-connection.ts'

function read(text: string): Promise<AnswerHead | undefined> {
  const connection = { readSome: async () => Buffer.from(text, 'latin1'), putBack: () => undefined }
  return readHead(connection as unknown as DirectConnection)
}

const withLine = (line: string): string => `HTTP/1.1 200 OK\r\n${line}\r\nContent-Length: 3\r\n\r\n`

describe('the head of an answer', () => {
  it('has values without surrounding blanks', async () => {
    for (const [line, value] of [
      ['x:a', 'a'],
      ['X: \t a b \t ', 'a b'],
      ['x:', ''],
      ['x: \t ', ''],
      ['x: a:b', 'a:b'],
      ['x: \u00a0\v', '\u00a0\v'],
      ['x: a\r\nX: b', 'a, b'],
    ] as const) {
      assert.equal((await read(withLine(line)))?.headers.x, value, JSON.stringify(line))
    }
  })

  it('rejects lines without a name or with control characters', async () => {
    for (const line of ['x', ': a', ' x: a', '\tx', 'x : a', 'x y: a', 'x: a\0', 'x: a\rb', 'x: a\nb', '']) {
      assert.equal(await read(withLine(line)), undefined, JSON.stringify(line))
    }
  })

  it('S13 is parsed in linear time for any content', async () => {
    const lines: ((size: number) => string)[] = [
      (size) => `x:${' '.repeat(size)}\0`,
      (size) => `x:${' \t'.repeat(size / 2)}\0a`,
      (size) => `x:${' a'.repeat(size / 2)}\r`,
      (size) => `${'x'.repeat(size)}`,
      (size) => `${'x'.repeat(size)}\0:`,
      (size) => `${'x:y\r\n'.repeat(size / 5)}y:y`,
      (size) => `connection:${'close,'.repeat(size / 6)}`,
      (size) => `connection:${'_close'.repeat(size / 6)}`,
    ]
    for (const line of lines) {
      const name = JSON.stringify(line(8))
      await assertLinearWork(name, (size) => read(withLine(line(size))), { toSize: 16_000 })
    }
  })
})
