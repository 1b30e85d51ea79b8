// Where the CPU time of PATCH member at 32 connections goes: the functions with the most self time, by thread.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contenders } from './contenders.ts'
import { measure, operations } from './load.ts'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

const shown = 15

/** For the Node that is profiled; each of its threads writes a file when it ends. */
export function profilingFlags(folder: string): string[] {
  return ['--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${folder}`]
}

/** Ends the contenders, which must have been given the flags. */
export async function profile(contenders: Contenders, folder: string, seconds: number): Promise<string> {
  const penstock = await contenders.get('sqlite')
  const { perSecond } = await measure(penstock, operations['patch-member']!, { connections: 32, seconds }, folder)
  const requests = perSecond * seconds
  await contenders.endAll()
  const parts = readdirSync(folder)
    .filter((file) => file.endsWith('.cpuprofile'))
    .map((file) => summary(JSON.parse(readFileSync(join(folder, file), 'utf8')), requests))
  const title = `PATCH member, 32 connections, under the profiler: ${Math.round(requests / seconds)} requests/s`
  return [title, ...parts].join('\n\n')
}

function summary({ nodes, samples, timeDeltas }: Profile, requests: number): string {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const functions = new Map<string, number>()
  const places = new Map<string, number>()
  let idle = 0
  let total = 0
  for (const [index, id] of samples.entries()) {
    const micros = timeDeltas[index]!
    total += micros
    const { functionName, url, lineNumber } = byId.get(id)!.callFrame
    if (functionName === '(idle)') {
      idle += micros
      continue
    }
    const file = url.replace(/^.*\/(?=(?:src|node_modules)\/)/, '')
    add(
      functions,
      url ? `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}` : `${functionName} (native)`,
      micros,
    )
    add(places, file.replace(/^(node_modules\/(?:@[^/]+\/)?[^/]+)\/.*$/, '$1') || 'native', micros)
  }
  const isMain = nodes.some(({ callFrame }) => callFrame.url.includes('node:_http_server'))
  const top = (times: Map<string, number>): string[] =>
    [...times]
      .sort((a, b) => b[1] - a[1])
      .slice(0, shown)
      .map(([name, micros]) => `${(micros / requests).toFixed(1).padStart(8)}  ${name}`)
  const busy = total - idle
  return [
    `${isMain ? 'Main' : 'Writer'} thread: ${(busy / requests).toFixed(0)} µs per request, busy ${((100 * busy) / total).toFixed(0)} % of the time`,
    'By function (self time, µs per request):',
    ...top(functions),
    'By file:',
    ...top(places),
  ].join('\n')
}

function add(times: Map<string, number>, name: string, micros: number): void {
  times.set(name, (times.get(name) ?? 0) + micros)
}
