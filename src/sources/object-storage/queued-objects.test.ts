import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { keyOf } from './object-assignment.ts'
import { compareKeys } from './object-store.ts'
import { endOfListing, isTooLong, messagePartition, objectPartition, versionOf } from './queued-objects.ts'

describe('partition names of a source with a queue', () => {
  it('encode a version of an object with any key and ETag', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 12 })
    fc.assert(
      fc.property(texts, texts, (key, etag) => {
        assert.deepEqual(versionOf(objectPartition({ key, etag })), { key, etag })
      }),
    )
    assert.equal(objectPartition({ key: 'a b', etag: 'x y' }), 'object:x%20y a b')
  })

  it('are too long when they exceed the limit of the database index', () => {
    assert.ok(!isTooLong(objectPartition({ key: 'k'.repeat(1_024), etag: 'e'.repeat(64) })))
    assert.ok(isTooLong(objectPartition({ key: '😀'.repeat(500), etag: 'e' })))
    assert.ok(isTooLong(objectPartition({ key: 'k', etag: 'e'.repeat(2_000) })))
  })

  it('distinguish objects from others', () => {
    for (const other of ['objects', 'objects 1/2', 'message:1', 'object:', 'object:etag', '']) {
      assert.equal(versionOf(other), undefined, other)
    }
  })

  it('encode the id of a message, and hash unusual ids', () => {
    assert.equal(messagePartition('5fea7756-0ea4-451a'), 'message:5fea7756-0ea4-451a')
    for (const odd of ['', 'a b', 'x'.repeat(200), '\0', 'ü'])
      assert.match(messagePartition(odd), /^message:[0-9a-f]{64}$/)
  })

  it('end after every key', () => {
    const end = keyOf(endOfListing) ?? ''
    assert.ok(compareKeys('\u{10FFFF}'.repeat(256), end) < 0, 'the last of all keys of 1,024 bytes')
  })
})
