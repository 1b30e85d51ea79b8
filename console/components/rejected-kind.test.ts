import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectedKindOf } from './rejected-kind.ts'

const kinds = [
  ['a record of a stream', '0', 'offset 42', 'row'],
  ['a row of a file that was listed', 'share 0', 'bytes 0 to 120 of orders/a.json', 'row'],
  ['a row of a file announced by a queue', 'object:etag a.json', 'bytes 0 to 120 of a.json', 'row'],
  ['a file announced by a queue', 'object:etag a.parquet', 'the object a.parquet', 'file'],
  ['a file whose name is too long', 'message:8f0c', 'the object aaaa', 'file'],
  ['a message', 'message:5fea7756', 'message:5fea7756', 'message'],
  ['a file that is refused as a whole, without a queue', 'share 0', 'the object a.parquet', 'row'],
] as const

for (const [what, partition, position, kind] of kinds) {
  test(`${what} is a ${kind}`, () => assert.equal(rejectedKindOf({ partition, position }), kind))
}
