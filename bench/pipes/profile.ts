// CPU profile of Penstock while it moves rows: the functions with the most self time in the main thread.
import { longest, profileFlags, takeProfiles } from '../cpu-profile.ts'

const shown = 30

export function pipeProfileFlags(folder: string): string[] {
  return profileFlags(folder, 500)
}

export function profileText(folder: string, rows: number): string {
  // The other threads write to the database or hash passwords.
  const [busiest] = takeProfiles(folder).toSorted((one, other) => other.busyMicros - one.busyMicros)
  if (!busiest) return 'nothing was profiled'
  const perMillion = (micros: number): string => ((micros * 1_000) / rows).toFixed(0).padStart(7)
  return [
    `Main thread, ms per million rows: ${perMillion(busiest.busyMicros).trim()} in all`,
    ...longest(busiest.functions, shown).map(([name, micros]) => `${perMillion(micros)}  ${name}`),
  ].join('\n')
}
