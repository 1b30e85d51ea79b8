import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { message } from '../../../test/sources/postgres-servers.ts'
import { lsnText, parseLsn } from './postgres-lsn.ts'
import { MessageCutter } from './postgres-messages.ts'
import { WalQueue } from './postgres-wal-queue.ts'

describe('messages of PostgreSQL', () => {
  it('are the same wherever the network cuts them', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 })
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map((body) => message('d', Buffer.from(body))))
        const received: string[] = []
        const cutter = new MessageCutter({
          receive: (letter, whole, start, end) => {
            received.push(String.fromCharCode(letter) + whole.toString('hex', start, end))
          },
          admit: () => assert.fail('none is long'),
        })
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const next = at + cuts[turn % cuts.length]!
          cutter.push(bytes.subarray(at, next))
          at = next
        }
        assert.deepEqual(
          received,
          sent.map((body) => `d${Buffer.from(body).toString('hex')}`),
        )
      }),
    )
  })

  it('come out of the queue as they went in, however much is taken at a time', () => {
    const step = fc.record({ sizes: fc.array(fc.integer({ min: 1, max: 600_000 })), maxBytes: fc.nat(2_000_000) })
    const source = Buffer.alloc(600_000, 'abcdefg')
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const queue = new WalQueue()
        const added: number[] = []
        const taken: number[] = []
        const take = (maxBytes: number): void => {
          const { bytes, count, starts, ends } = queue.take(maxBytes)
          let sizeBytes = 0
          for (let index = 0; index < count; index++) {
            const found = bytes.subarray(starts[index], ends[index])
            assert.ok(found.equals(source.subarray(0, found.length)))
            taken.push(found.length)
            sizeBytes += found.length
          }
          assert.ok(count <= 1 || sizeBytes <= maxBytes)
        }
        for (const { sizes, maxBytes } of steps) {
          for (const size of sizes) queue.add(source, 0, size)
          added.push(...sizes)
          take(maxBytes)
        }
        while (!queue.isEmpty) take(1_000_000)
        assert.deepEqual(taken, added)
        assert.equal(queue.waitingBytes, 0)
      }),
      { numRuns: 30 },
    )
  })
})

describe('LSNs', () => {
  it('are written as PostgreSQL writes them', () => {
    assert.equal(lsnText(0x16_b374_d848n), '16/B374D848')
    assert.equal(lsnText(0n), '0/0')
    assert.equal(parseLsn('16/B374D848'), 0x16_b374_d848n)
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (lsn) => parseLsn(lsnText(lsn)) === lsn))
    for (const text of ['', '16', '16/', '/1', '1/2/3', 'x/1', '123456789/0', '1/2 ']) {
      assert.throws(() => parseLsn(text), text)
    }
  })
})
