// Reads CPU profiles of Node: self time of functions by thread.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

interface ProfileFile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

export interface ThreadProfile {
  /** Served HTTP. */
  isMain: boolean
  totalMicros: number
  /** Without idle time. */
  busyMicros: number
  /** By function, such as `readBlock src/runner/postgres/stream.ts:180`. */
  functions: Map<string, number>
  /** By source file, or by package. */
  files: Map<string, number>
}

/** Flags for the profiled Node; each of its threads writes a file when it ends. */
export function profileFlags(folder: string, intervalMicros: number): string[] {
  return ['--cpu-prof', `--cpu-prof-interval=${intervalMicros}`, `--cpu-prof-dir=${folder}`]
}

/** Removes the profiles, so that the folder can be reused. */
export function takeProfiles(folder: string): ThreadProfile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  const files = names.map((name) => join(folder, name))
  const profiles = files.map((file) => threadProfile(JSON.parse(readFileSync(file, 'utf8'))))
  for (const file of files) rmSync(file)
  return profiles
}

/** Sorted by time, descending. */
export function longest(times: Map<string, number>, count: number): [string, number][] {
  return [...times].toSorted((one, other) => other[1] - one[1]).slice(0, count)
}

function threadProfile({ nodes, samples, timeDeltas }: ProfileFile): ThreadProfile {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const [functions, files] = [new Map<string, number>(), new Map<string, number>()]
  let [totalMicros, busyMicros] = [0, 0]
  for (const [index, id] of samples.entries()) {
    const micros = timeDeltas[index]!
    totalMicros += micros
    const { functionName, url, lineNumber } = byId.get(id)!
    if (functionName === '(idle)') continue
    busyMicros += micros
    const file = url.replace(/^.*\/(?=(?:src|node_modules)\/)/, '')
    const name = url ? `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}` : `${functionName} (native)`
    add(functions, name, micros)
    add(files, file.replace(/^(node_modules\/(?:@[^/]+\/)?[^/]+)\/.*$/, '$1') || 'native', micros)
  }
  const isMain = nodes.some(({ callFrame }) => callFrame.url.includes('node:_http_server'))
  return { isMain, totalMicros, busyMicros, functions, files }
}

function add(times: Map<string, number>, name: string, micros: number): void {
  times.set(name, (times.get(name) ?? 0) + micros)
}
