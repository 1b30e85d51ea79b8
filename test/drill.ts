// A drill of the whole system as a test, at the size that every test run has.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { SystemDrill, SystemResult } from '../chaos/system/drill.ts'

type DrillOptions = Parameters<SystemDrill['run']>[0]

/**
 * For what hangs: far above what any takes on a machine that has much else to do. A drill that is given up on goes on beside the
 * next ones, and spoils them.
 */
export const drillTimeout = 1_800_000

export interface DrillTest<More> {
  /** What is said of this one beside the promise. */
  name?: string
  size?: number
  more?: More
  /** What must be true besides. */
  check?(figures: Record<string, number>): void
}

/** `More`: what a drill takes beside what all take. */
export function testDrill<More extends object = object>(
  drill: Omit<SystemDrill, 'run'> & { run(options: DrillOptions & More): Promise<SystemResult> },
  { name = '', size = drill.ci, more, check }: DrillTest<More> = {},
): void {
  it(`${drill.id}: ${drill.promise}${name} (${size} ${drill.unit})`, { timeout: drillTimeout }, async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-drill-'))
    test.after(() => rmSync(folder, { recursive: true, force: true }))
    const { isKept, figures, toLookAt } = await drill.run({ seed: 7, size, folder, ...(more as More) })
    test.diagnostic(JSON.stringify(figures))
    assert.ok(isKept, `${JSON.stringify(figures)} ${toLookAt ?? ''}`)
    check?.(figures)
  })
}

/** How much of it: what a test run does, unless `npm run chaos` says otherwise. */
export function drillSize(usual: number): number {
  return Number(process.env.PENSTOCK_DRILL_SIZE ?? usual)
}

export function drillSeed(): number {
  return Number(process.env.PENSTOCK_DRILL_SEED ?? Math.floor(Math.random() * 2 ** 31))
}
