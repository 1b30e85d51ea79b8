// Decodes Parquet in a child process. The library does not validate its input, so a malicious file can exhaust memory or loop
// forever: then only that process ends. It has no environment, and requests bytes from the parent.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { Undecodable } from '../undecodable.ts'
import type { Compression, Decoded, ObjectBytes, ObjectDecoding } from './decoding.ts'

interface Task {
  key: string
  sizeBytes: number
  compression: Compression
  maxRows: number
}

interface ReadRequest {
  id: number
  start: number
  end: number
}

type FromDecoder = { read: ReadRequest } | { decoded: Decoded } | { undecodable: string }
type ToDecoder = { task: Task } | { id: number; bytes: Uint8Array }

/** Maximum time between two messages, except while it waits for bytes. */
const maxSilenceMs = 10_000
const maxLifeMs = 120_000
const maxHeapMebibytes = 512

/** Rejects with Undecodable, with the error of `read`, or with the reason of the signal. */
export async function decodeParquet(
  object: ObjectBytes,
  { compression, maxRows, signal }: Pick<ObjectDecoding, 'compression' | 'maxRows' | 'signal'>,
  { silenceMs = maxSilenceMs } = {},
): Promise<Decoded> {
  signal.throwIfAborted()
  const { key, sizeBytes } = object
  const decoder = fork(fileURLToPath(import.meta.url), {
    execArgv: [`--max-old-space-size=${maxHeapMebibytes}`],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ended = once(decoder, 'close').catch(() => undefined)
  try {
    return await serve(decoder, object, { task: { key, sizeBytes, compression, maxRows }, silenceMs, signal })
  } finally {
    decoder.kill('SIGKILL')
    await ended
  }
}

async function serve(
  decoder: ChildProcess,
  object: ObjectBytes,
  { task, silenceMs, signal }: { task: Task; silenceMs: number; signal: AbortSignal },
): Promise<Decoded> {
  const { promise, resolve, reject } = Promise.withResolvers<Decoded>()
  // The process may end at any time; the exit event reports that.
  const send = (message: ToDecoder): void => void decoder.send(message, () => undefined)
  const stop = (): void => reject(signal.reason)
  const giveUp = (): void => reject(new Undecodable('the Parquet object takes too long to decode'))
  let silence = setTimeout(giveUp, silenceMs)
  let reads = 0
  const answer = async ({ id, start, end }: ReadRequest): Promise<void> => {
    reads++
    clearTimeout(silence)
    const bytes = await object.read(start, end)
    send({ id, bytes })
    if (--reads === 0) silence = setTimeout(giveUp, silenceMs)
  }
  decoder.on('message', (message: FromDecoder) => {
    if ('decoded' in message) resolve(message.decoded)
    else if ('undecodable' in message) reject(new Undecodable(message.undecodable))
    else answer(message.read).catch(reject)
  })
  decoder.on('error', reject)
  decoder.on('exit', () => reject(new Undecodable('the Parquet object takes too much memory to decode')))
  signal.addEventListener('abort', stop)
  send({ task })
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', stop)
    reads = Number.POSITIVE_INFINITY
    clearTimeout(silence)
  }
}

function runDecoder(): void {
  // Ends the process even if the parent is gone and the main thread is busy.
  const end = `setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${maxLifeMs})`
  new Worker(end, { eval: true }).unref()
  process.on('disconnect', () => process.exit())
  const reply = (message: FromDecoder): void => void process.send?.(message)
  const waiting = new Map<number, (bytes: Uint8Array) => void>()
  let lastId = 0
  const read = (start: number, end: number): Promise<Uint8Array> =>
    new Promise((resolve) => {
      const id = ++lastId
      waiting.set(id, resolve)
      reply({ read: { id, start, end } })
    })
  process.on('message', (message: ToDecoder) => {
    if ('task' in message) decodeTask(message.task, read).then(reply)
    else waiting.get(message.id)?.(message.bytes)
  })
}

async function decodeTask(
  { key, sizeBytes, compression, maxRows }: Task,
  read: ObjectBytes['read'],
): Promise<FromDecoder> {
  try {
    const { firstRows } = await import('./parquet-decode.ts')
    return { decoded: await firstRows({ key, sizeBytes, read }, compression, maxRows) }
  } catch (error) {
    return { undecodable: error instanceof Undecodable ? error.reason : 'the Parquet object cannot be read' }
  }
}

const isDecoder = process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)
if (isDecoder) runDecoder()
