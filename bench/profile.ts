// CPU profile of PATCH member at 32 connections: the functions with the most self time, by thread.
import type { Contenders } from './contenders.ts'
import { longest, profileFlags, type ThreadProfile, takeProfiles } from './cpu-profile.ts'
import { measure, operations } from './load.ts'

const shown = 15

export function profilingFlags(folder: string): string[] {
  return profileFlags(folder, 200)
}

/** Stops the contenders, which must have been started with the profiler flags. */
export async function profile(contenders: Contenders, folder: string, seconds: number): Promise<string> {
  const penstock = await contenders.get('sqlite')
  const { perSecond } = await measure(penstock, operations['patch-member']!, { connections: 32, seconds }, folder)
  const requests = perSecond * seconds
  await contenders.endAll()
  const parts = takeProfiles(folder).map((thread) => summary(thread, requests))
  const title = `PATCH member, 32 connections, under the profiler: ${Math.round(requests / seconds)} requests/s`
  return [title, ...parts].join('\n\n')
}

function summary({ isMain, totalMicros, busyMicros, functions, files }: ThreadProfile, requests: number): string {
  const top = (times: Map<string, number>): string[] =>
    longest(times, shown).map(([name, micros]) => `${(micros / requests).toFixed(1).padStart(8)}  ${name}`)
  const busyPercent = ((100 * busyMicros) / totalMicros).toFixed(0)
  return [
    `${isMain ? 'Main' : 'Writer'} thread: ${(busyMicros / requests).toFixed(0)} µs per request, busy ${busyPercent} % of the time`,
    'By function (self time, µs per request):',
    ...top(functions),
    'By file:',
    ...top(files),
  ].join('\n')
}
