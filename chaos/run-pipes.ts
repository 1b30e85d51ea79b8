// Runs pipe drills one after another until the requested number of faults is reached.
import { drills } from './drills.ts'
import { isExact } from './in-world.ts'
import { type EngineName, makeServers, type Servers } from './servers.ts'

export interface PipeDrillsOptions {
  seed: number
  deadlineMs: number
  kills: number
  engines: EngineName[]
}

interface Totals {
  runs: number
  faults: number
  rows: number
  badRows: number
  lost: number
  extra: number
  kept: string[]
}

/** Resolves to whether every row arrived exactly once. */
export async function runPipeDrills(ids: string[], options: PipeDrillsOptions): Promise<boolean> {
  if (ids.length === 0) return true
  const servers = makeServers()
  let isKept = true
  console.log('| id | runs | faults | rows | bad rows | lost | extra | kept folder |')
  console.log('|---|---|---|---|---|---|---|---|')
  try {
    for (const id of ids) isKept = (await runDrill(id, servers, options)) && isKept
  } finally {
    await servers.stop()
  }
  return isKept
}

async function runDrill(
  id: string,
  servers: Servers,
  { seed, deadlineMs, kills, engines }: PipeDrillsOptions,
): Promise<boolean> {
  const drill = drills[id]
  if (!drill) throw new Error(`unknown drill ${id}`)
  const totals: Totals = { runs: 0, faults: 0, rows: 0, badRows: 0, lost: 0, extra: 0, kept: [] }
  let isKept = true
  while (totals.faults < kills && Date.now() < deadlineMs) {
    const faults = Math.min(drill.most, kills - totals.faults)
    const number = totals.runs++
    totals.faults += faults
    const engine = engines[number % engines.length] ?? 'modern'
    try {
      const { outcome, kept } = await drill.run(servers, { number, engine, faults, seed: seed + number })
      totals.rows += outcome.producedRows
      totals.badRows += outcome.producedBadRows
      totals.lost += outcome.rows.lost + outcome.badRows.lost
      totals.extra += outcome.rows.extra + outcome.badRows.extra
      if (kept !== undefined) totals.kept.push(kept)
      isKept &&= isExact(outcome)
    } catch (error) {
      isKept = false
      totals.kept.push(`${error instanceof Error ? error.message : error} (seed ${seed + number}, ${engine})`)
    }
  }
  const { runs, faults, rows, badRows, lost, extra, kept } = totals
  console.log(`| ${[id, runs, faults, rows, badRows, lost, extra, kept.join('; ')].join(' | ')} |`)
  return isKept
}
