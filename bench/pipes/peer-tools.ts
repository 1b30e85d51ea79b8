// What the programs share that move rows beside Penstock: the client of ClickHouse's makers, and how they say what they took.
import { join } from 'node:path'
import { peakMegabytes } from './peak-memory.ts'

export interface PeerMetrics {
  seconds: number
  cpuSeconds: number
  peakMegabytes: number
}

export interface PeerEngine {
  url: string
  username: string
  password: string
}

export type Insert = (rows: unknown[]) => Promise<void>

/** The little that is used of @clickhouse/client, which is installed only when the benchmark runs. */
interface Client {
  insert(parameters: { table: string; values: unknown[]; format: 'JSONEachRow' }): Promise<unknown>
  close(): Promise<void>
}
interface ClientModule {
  createClient(options: PeerEngine & { request_timeout: number }): Client
}

const clientFile = join(import.meta.dirname, '..', 'node_modules', '@clickhouse', 'client', 'dist', 'index.js')

/** `move` gives the seconds that it took. Prints them, with what else was taken, as JSON. */
export async function runPeer(
  engine: PeerEngine,
  table: string,
  move: (insert: Insert) => Promise<number>,
): Promise<void> {
  const { createClient } = (await import(clientFile)) as ClientModule
  const client = createClient({ ...engine, request_timeout: 300_000 })
  const seconds = await move(async (values) => {
    await client.insert({ table, values, format: 'JSONEachRow' })
  })
  await client.close()
  printFigures(seconds)
}

/** For whoever started this process. */
export function printFigures(seconds: number): void {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  const figures: PeerMetrics = {
    seconds,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1_000_000,
    peakMegabytes: peakMegabytes(process.pid),
  }
  console.log(JSON.stringify(figures))
}
