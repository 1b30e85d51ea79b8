// Runs system drills one after another.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SystemDrill, SystemResult } from './drill.ts'

export interface SystemDrillsOptions {
  seed: number
  /** No drill starts after this time. */
  deadlineMs: number
  sizeOf(drill: SystemDrill): number
}

/** Resolves to whether all promises were kept. */
export async function runSystemDrills(
  chosen: SystemDrill[],
  { seed, deadlineMs, sizeOf }: SystemDrillsOptions,
): Promise<boolean> {
  if (chosen.length === 0) return true
  let isKept = true
  console.log('| id | promise | size | measurements | kept | details |')
  console.log('|---|---|---|---|---|---|')
  for (const drill of chosen) {
    if (Date.now() >= deadlineMs) break
    const size = sizeOf(drill)
    const folder = mkdtempSync(join(tmpdir(), `penstock-${drill.id}-`))
    const result = await runOne(drill, { seed, size, folder })
    isKept &&= result.isKept
    const measurements = Object.entries(result.measurements).map(([name, value]) => `${name} ${value}`)
    const toLookAt = result.isKept ? '' : `${result.toLookAt ?? ''} ${folder}`
    const line = [
      drill.id,
      drill.promise,
      `${size} ${drill.unit}`,
      measurements.join(', '),
      result.isKept ? 'yes' : 'NO',
    ]
    console.log(`| ${[...line, toLookAt.replaceAll('|', '/')].join(' | ')} |`)
    if (result.isKept) rmSync(folder, { recursive: true, force: true })
  }
  console.log('')
  return isKept
}

async function runOne(drill: SystemDrill, options: Parameters<SystemDrill['run']>[0]): Promise<SystemResult> {
  try {
    return await drill.run(options)
  } catch (error) {
    return { isKept: false, measurements: {}, toLookAt: error instanceof Error ? error.message : String(error) }
  }
}
