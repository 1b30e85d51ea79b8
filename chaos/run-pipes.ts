// Drills of pipes, one after the other, until there were as many troubles as wanted.
import { drills } from './drills.ts'
import { isExact } from './in-world.ts'
import { type EngineName, makeServers, type Servers } from './servers.ts'

export interface PipeDrillsOptions {
  seed: number
  deadlineMs: number
  kills: number
  engines: EngineName[]
}

interface Figures {
  runs: number
  troubles: number
  rows: number
  badRows: number
  lost: number
  extra: number
  kept: string[]
}

/** Whether every row was there once. */
export async function runPipeDrills(ids: string[], options: PipeDrillsOptions): Promise<boolean> {
  if (ids.length === 0) return true
  const servers = makeServers()
  let isKept = true
  console.log('| id | runs | troubles | rows | bad rows | lost | extra | to look at |')
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
  if (!drill) throw new Error(`there is no ${id}`)
  const figures: Figures = { runs: 0, troubles: 0, rows: 0, badRows: 0, lost: 0, extra: 0, kept: [] }
  let isKept = true
  while (figures.troubles < kills && Date.now() < deadlineMs) {
    const troubles = Math.min(drill.most, kills - figures.troubles)
    const number = figures.runs++
    figures.troubles += troubles
    const engine = engines[number % engines.length] ?? 'modern'
    try {
      const { outcome, kept } = await drill.run(servers, { number, engine, troubles, seed: seed + number })
      figures.rows += outcome.producedRows
      figures.badRows += outcome.producedBadRows
      figures.lost += outcome.rows.lost + outcome.badRows.lost
      figures.extra += outcome.rows.extra + outcome.badRows.extra
      if (kept !== undefined) figures.kept.push(kept)
      isKept &&= isExact(outcome)
    } catch (error) {
      isKept = false
      figures.kept.push(`${error instanceof Error ? error.message : error} (seed ${seed + number}, ${engine})`)
    }
  }
  const { runs, troubles, rows, badRows, lost, extra, kept } = figures
  console.log(`| ${[id, runs, troubles, rows, badRows, lost, extra, kept.join('; ')].join(' | ')} |`)
  return isKept
}
