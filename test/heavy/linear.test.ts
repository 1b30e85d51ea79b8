// R10 with the size of a test run: concurrent calls to two processes. `npm run chaos` runs the same drill for longer.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { linearDrill } from '../../chaos/system/linear.ts'
import { isLinearizable, type RecordedCall } from '../../chaos/system/linear-check.ts'
import { drillTimeout, testDrill } from '../harness/drill.ts'

testDrill(linearDrill)

it('R10: without the lock on the organization nine in ten histories are flagged', {
  timeout: drillTimeout,
}, async (test) => {
  const size = 20
  const folder = mkdtempSync(join(tmpdir(), 'penstock-drill-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const { measurements } = await linearDrill.run({ seed: 7, size, folder, mutant: 'no-org-lock' })
  test.diagnostic(JSON.stringify(measurements))
  assert.ok(measurements.flagged! >= 0.9 * size, `${measurements.flagged} of ${size}`)
})

describe('the linearizability checker', () => {
  const write = (calledAt: number, answeredAt: number, value: number): RecordedCall<number> => ({
    calledAt,
    answeredAt,
    step: () => value,
  })
  const read = (calledAt: number, answeredAt: number, value: number): RecordedCall<number> => ({
    calledAt,
    answeredAt,
    step: (state) => (state === value ? state : undefined),
  })
  const check = (...calls: RecordedCall<number>[]) => isLinearizable(calls, 0, String)

  it('accepts either value for a read during a write', () => {
    assert.ok(check(write(1, 4, 5), read(2, 3, 0)))
    assert.ok(check(write(1, 4, 5), read(2, 3, 5)))
  })

  it('flags a stale read after an answered write', () => {
    assert.ok(!check(write(1, 2, 5), read(3, 4, 0)))
  })

  it('flags two reads that see a write and then not', () => {
    assert.ok(!check(write(1, 8, 5), read(2, 3, 5), read(4, 5, 0)))
  })

  it('flags a value that was never written', () => {
    assert.ok(!check(write(1, 4, 5), read(2, 3, 6)))
  })

  it('derives the order of writes from the reads', () => {
    assert.ok(check(write(1, 6, 5), write(2, 7, 6), read(8, 9, 5)))
    assert.ok(!check(write(1, 6, 5), write(2, 7, 6), read(8, 9, 5), read(10, 11, 6)))
  })

  it('accepts that a write without an answer took effect at any later time, or never', () => {
    assert.ok(check(write(1, Number.POSITIVE_INFINITY, 5), read(2, 3, 0), read(4, 5, 5)))
    assert.ok(check(write(1, Number.POSITIVE_INFINITY, 5), read(2, 3, 0), read(4, 5, 0)))
  })
})
