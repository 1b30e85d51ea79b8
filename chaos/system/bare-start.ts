// Baseline for promises in seconds: how long the machine takes to start a minimal process with SQLite. A slow machine exceeds
// seconds; only Penstock exceeds a multiple of a bare start.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const script = `
  import { createServer } from 'node:http'
  import { DatabaseSync } from 'node:sqlite'
  const database = new DatabaseSync(process.argv[1])
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS starts (at); INSERT INTO starts VALUES (1)')
  createServer().listen(0, '127.0.0.1', () => console.log('serving'))`

/** In milliseconds. */
export async function timeBareStart(folder: string): Promise<number> {
  const place = join(folder, 'bare-start')
  mkdirSync(place, { recursive: true })
  const begunAtMs = performance.now()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, join(place, 'bare.db')], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  const tookMs = performance.now() - begunAtMs
  child.kill('SIGKILL')
  await ended
  return tookMs
}

export function medianMs(times: number[]): number {
  return Math.round(times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0)
}
