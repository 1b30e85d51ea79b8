// Runs a system drill as a test, with the size for every test run.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { SystemDrill, SystemResult } from '../../chaos/system/drill.ts'

type DrillOptions = Parameters<SystemDrill['run']>[0]

/**
 * For hangs only: far above the duration of any drill on a busy machine. A drill that timed out continues in the background and
 * disturbs the next ones.
 */
export const drillTimeout = 1_800_000

export interface DrillTest<More> {
  /** Added to the test name. */
  name?: string
  size?: number
  more?: More
  /** Additional assertions. */
  check?(measurements: Record<string, number>): void
}

/** `More`: additional options of the drill. */
export function testDrill<More extends object = object>(
  drill: Omit<SystemDrill, 'run'> & { run(options: DrillOptions & More): Promise<SystemResult> },
  { name = '', size = drill.ci, more, check }: DrillTest<More> = {},
): void {
  it(`${drill.id}: ${drill.promise}${name} (${size} ${drill.unit})`, { timeout: drillTimeout }, async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-drill-'))
    test.after(() => rmSync(folder, { recursive: true, force: true }))
    const { isKept, measurements, toLookAt } = await drill.run({ seed: 7, size, folder, ...(more as More) })
    test.diagnostic(JSON.stringify(measurements))
    assert.ok(isKept, `${JSON.stringify(measurements)} ${toLookAt ?? ''}`)
    check?.(measurements)
  })
}

/** Size in a test run, unless `npm run chaos` sets another. */
export function drillSize(usual: number): number {
  return Number(process.env.PENSTOCK_DRILL_SIZE ?? usual)
}

export function drillSeed(): number {
  return Number(process.env.PENSTOCK_DRILL_SEED ?? Math.floor(Math.random() * 2 ** 31))
}
