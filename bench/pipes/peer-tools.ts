// Shared parts of the peers: the official ClickHouse client, and the output of measurements.
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

/** The used part of @clickhouse/client, which is installed only when the benchmark runs. */
interface Client {
  insert(parameters: { table: string; values: unknown[]; format: 'JSONEachRow' }): Promise<unknown>
  close(): Promise<void>
}
interface ClientModule {
  createClient(options: PeerEngine & { request_timeout: number }): Client
}

const clientFile = join(import.meta.dirname, '..', 'node_modules', '@clickhouse', 'client', 'dist', 'index.js')

/** `move` returns the duration in seconds. Prints it with the resource usage as JSON. */
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
  printMetrics(seconds)
}

/** Read by the parent process. */
export function printMetrics(seconds: number): void {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  const metrics: PeerMetrics = {
    seconds,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1_000_000,
    peakMegabytes: peakMegabytes(process.pid),
  }
  console.log(JSON.stringify(metrics))
}
