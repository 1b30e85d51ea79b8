// Where the CPU time of Penstock goes while it moves rows: the functions with the most self time in its main thread.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

const shown = 30

/** Each thread of Penstock writes a file when it ends. */
export function profileFlags(folder: string): string[] {
  return ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${folder}`]
}

export function profileText(folder: string, rows: number): string {
  const files = readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))
  const summaries = files.map((file) => summaryOf(JSON.parse(readFileSync(join(folder, file), 'utf8')), rows))
  // The other threads write to the database, or hash passwords.
  return summaries.toSorted((one, other) => other.busyMs - one.busyMs)[0]?.text ?? 'nothing was profiled'
}

function summaryOf({ nodes, samples, timeDeltas }: Profile, rows: number): { busyMs: number; text: string } {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const millis = new Map<string, number>()
  let busyMs = 0
  for (const [index, id] of samples.entries()) {
    const { functionName, url, lineNumber } = byId.get(id)!.callFrame
    if (functionName === '(idle)') continue
    const tookMs = timeDeltas[index]! / 1_000
    busyMs += tookMs
    const file = url.replace(/^.*\/(?=(?:src|node_modules)\/)/, '')
    const name = url ? `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}` : `${functionName} (native)`
    millis.set(name, (millis.get(name) ?? 0) + tookMs)
  }
  const perMillion = (ms: number): string => ((ms * 1_000_000) / rows).toFixed(0).padStart(7)
  const lines = [...millis].toSorted((one, other) => other[1] - one[1]).slice(0, shown)
  const text = [
    `Main thread, ms per million rows: ${perMillion(busyMs).trim()} in all`,
    ...lines.map(([name, ms]) => `${perMillion(ms)}  ${name}`),
  ].join('\n')
  return { busyMs, text }
}
