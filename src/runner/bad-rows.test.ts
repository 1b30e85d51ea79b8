import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { lineRows } from '../../test/runner-world/line-rows.ts'
import { LineEngine } from '../../test/runner-world/line-sink.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import type { Rows } from '../formats/encode/rows.ts'
import { findRejected, keepRejected, type TryOut } from './bad-rows.ts'

async function textOf(rows: Rows): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of rows.body()) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString()
}

function countingTryOut(): { tryOut: TryOut; tries: () => number } {
  let tries = 0
  const tryOut: TryOut = async (rows) => {
    tries++
    return /BAD \d+/.exec(await textOf(rows))?.[0]
  }
  return { tryOut, tries: () => tries }
}

async function findAll(rows: Rows, known: RejectedRow[], tryOut: TryOut): Promise<RejectedRow[]> {
  const rejected: RejectedRow[] = []
  for await (const found of findRejected(rows, known, tryOut)) rejected.push(...found)
  return rejected.toSorted((one, other) => one.index - other.index)
}

const linesWith = (count: number, isBad: (index: number) => boolean) =>
  Array.from({ length: count }, (_, index) => ({
    partition: 'p',
    text: isBad(index) ? `BAD ${index}` : `row ${index}`,
  }))

describe('bad rows', () => {
  it('finds exactly the rejected rows, with the reason of each', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('good', 'bad', 'known'), { minLength: 1, maxLength: 60 }),
        async (kinds) => {
          const lines = linesWith(kinds.length, (index) => kinds[index] !== 'good')
          const known = kinds.flatMap((kind, index) => (kind === 'known' ? [{ index, reason: 'known' }] : []))
          const found = await findAll(lineRows(lines), known, countingTryOut().tryOut)
          const expected = kinds.flatMap((kind, index) => (kind === 'bad' ? [{ index, reason: `BAD ${index}` }] : []))
          assert.deepEqual(found, expected)
        },
      ),
    )
  })

  it('needs few tries for few bad rows', async () => {
    const { tryOut, tries } = countingTryOut()
    const found = await findAll(lineRows(linesWith(20_000, (index) => index === 11_234)), [], tryOut)
    assert.deepEqual(found, [{ index: 11_234, reason: 'BAD 11234' }])
    assert.ok(tries() <= 32, `${tries()} tries`)
  })

  it('needs no more than two tries for each row when all are bad', async () => {
    const { tryOut, tries } = countingTryOut()
    const found = await findAll(lineRows(linesWith(2_000, () => true)), [], tryOut)
    assert.equal(found.length, 2_000)
    assert.ok(tries() <= 4_000, `${tries()} tries`)
  })

  it('yields rows while it searches, and continues from known rows after an interruption', async () => {
    const rows = lineRows(linesWith(2_000, (index) => index % 10 !== 0))
    const broken: RejectedRow[] = []
    const first = countingTryOut()
    for await (const found of findRejected(rows, [], first.tryOut)) {
      broken.push(...found)
      if (first.tries() >= 200) break
    }
    assert.ok(broken.length >= 50, `${broken.length} rows after ${first.tries()} tries`)
    const second = countingTryOut()
    const others = await findAll(rows, broken, second.tryOut)
    assert.equal(new Set([...broken, ...others].map(({ index }) => index)).size, 1_800)
    const whole = countingTryOut()
    await findAll(rows, [], whole.tryOut)
    assert.ok(second.tries() < whole.tries() - 100, `${second.tries()} tries of ${whole.tries()}`)
  })

  it('stores an indivisible file as one entry without its bytes', async () => {
    const rows = lineRows(
      linesWith(3, (index) => index === 1),
      { isDivisible: false },
    )
    const rejected = await findAll(rows, [], countingTryOut().tryOut)
    assert.deepEqual(rejected, [{ index: 0, reason: 'BAD 1' }])
    const engine = new LineEngine()
    const sink = engine.sink((_name, effect) => effect())
    await keepRejected(sink, rows, { token: 'token', rejected }, new AbortController().signal)
    const [kept] = engine.badRows.values()
    assert.deepEqual([kept?.id, kept?.raw.length, kept?.reason], ['token-0', 0, 'BAD 1'])
  })

  it('stores thousands in portions, each row with an id of its own', async () => {
    const rows = lineRows(linesWith(2_500, () => true))
    const rejected = Array.from({ length: 2_500 }, (_, index) => ({ index, reason: 'r' }))
    const engine = new LineEngine()
    let portions = 0
    const sink = engine.sink((_name, effect) => {
      portions++
      return effect()
    })
    await keepRejected(sink, rows, { token: 'token', rejected }, new AbortController().signal)
    assert.equal(engine.badRows.size, 2_500)
    assert.equal(portions, 3)
  })
})
