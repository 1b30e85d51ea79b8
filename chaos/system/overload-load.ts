// Shared parts of load drills: the load thread, requests as bytes, and the memory of the server process.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { AdminKey } from '../penstock-process.ts'
import type { DrillOrganization } from './drill-organizations.ts'
import type { LoadOptions, LoadResult } from './overload-worker.ts'

export async function sendLoad(options: LoadOptions): Promise<LoadResult> {
  const worker = new Worker(new URL('overload-worker.ts', import.meta.url), { workerData: options })
  const [result] = (await once(worker, 'message')) as [LoadResult]
  await worker.terminate()
  return result
}

export function requestText(
  { keyId, keySecret }: AdminKey,
  { method, path, body, headers = [] }: { method: string; path: string; body?: object; headers?: string[] },
): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: penstock',
    `authorization: Basic ${Buffer.from(`${keyId}:${keySecret}`).toString('base64')}`,
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]),
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

/** Reads, changes and lists, in the proportions of an API with interactive and automated clients. */
export function mixedRequests({ key, path, memberIds }: DrillOrganization): string[] {
  const [, ...members] = memberIds
  return ['admin', 'developer'].flatMap((role) =>
    members.flatMap((id, index) => [
      requestText(key, { method: 'GET', path: `${path}/members/${id}` }),
      requestText(key, { method: 'PATCH', path: `${path}/members/${id}`, body: { role } }),
      ...(index % 4 === 0 ? [requestText(key, { method: 'GET', path: `${path}/members?limit=20` })] : []),
    ]),
  )
}

export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}

/** Peak memory during the work, sampled ten times per second. */
export async function mostMemoryDuring<Result>(
  pid: number,
  work: Promise<Result>,
): Promise<{ result: Result; mostMegabytes: number }> {
  let mostMegabytes = 0
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    mostMegabytes = Math.max(mostMegabytes, residentMegabytes(pid))
    await sleep(100)
  }
  return { result: await done, mostMegabytes }
}
