// Parquet, decoded in a thread of its own. The library believes what the bytes say, so that a few of them can make it fill the
// memory or run forever: then the thread ends, and Penstock goes on. Only the thread loads the library; it asks us for bytes.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type Compression, type Decoded, type ObjectBytes, Undecodable } from './decode.ts'

interface Task {
  decodesParquet: true
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

type FromThread = { read: ReadRequest } | { decoded: Decoded } | { undecodable: string }

interface ToThread {
  id: number
  bytes: Uint8Array
}

/** Between two signs of life, when it does not wait for bytes. */
const maxSilenceMs = 10_000
const maxHeapMebibytes = 512

export async function decodeParquet(
  object: ObjectBytes,
  compression: Compression,
  maxRows: number,
  { silenceMs = maxSilenceMs } = {},
): Promise<Decoded> {
  const { key, sizeBytes } = object
  const task: Task = { decodesParquet: true, key, sizeBytes, compression, maxRows }
  const thread = new Worker(new URL(import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMebibytes },
  })
  try {
    return await serve(thread, object, silenceMs)
  } finally {
    await thread.terminate()
  }
}

async function serve(thread: Worker, object: ObjectBytes, silenceMs: number): Promise<Decoded> {
  const { promise, resolve, reject } = Promise.withResolvers<Decoded>()
  let reads = 0
  let silence: NodeJS.Timeout | undefined
  const watch = (): void => {
    clearTimeout(silence)
    const giveUp = (): void => reject(new Undecodable('the Parquet object takes too long to decode'))
    if (reads === 0) silence = setTimeout(giveUp, silenceMs)
  }
  const answer = async ({ id, start, end }: ReadRequest): Promise<void> => {
    reads++
    // A copy, since of a part of a buffer the whole buffer would be sent.
    const bytes = new Uint8Array(await object.read(start, end))
    reads--
    const message: ToThread = { id, bytes }
    thread.postMessage(message, [bytes.buffer])
    watch()
  }
  thread.on('message', (message: FromThread) => {
    if ('decoded' in message) resolve(message.decoded)
    else if ('undecodable' in message) reject(new Undecodable(message.undecodable))
    else answer(message.read).catch(reject)
    watch()
  })
  thread.on('error', (error: NodeJS.ErrnoException) => {
    const isTooMuch = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    reject(new Undecodable(`the Parquet object ${isTooMuch ? 'takes too much memory to decode' : 'cannot be read'}`))
  })
  thread.on('exit', () => reject(new Undecodable('the Parquet object cannot be read')))
  watch()
  try {
    return await promise
  } finally {
    reads = Number.POSITIVE_INFINITY
    clearTimeout(silence)
  }
}

async function runTask({ key, sizeBytes, compression, maxRows }: Task): Promise<FromThread> {
  const waiting = new Map<number, (bytes: Uint8Array) => void>()
  let lastId = 0
  const port = parentPort!
  port.on('message', ({ id, bytes }: ToThread) => {
    waiting.get(id)?.(bytes)
    waiting.delete(id)
  })
  const read = (start: number, end: number): Promise<Uint8Array> =>
    new Promise((resolve) => {
      const id = ++lastId
      waiting.set(id, resolve)
      port.postMessage({ read: { id, start, end } } satisfies FromThread)
    })
  const { firstRows } = await import('./parquet-decode.ts')
  try {
    return { decoded: await firstRows({ key, sizeBytes, read }, compression, maxRows) }
  } catch (error) {
    if (error instanceof Undecodable) return { undecodable: error.reason }
    throw error
  }
}

const task = workerData as Partial<Task> | null
if (!isMainThread && task?.decodesParquet) runTask(task as Task).then((message) => parentPort!.postMessage(message))
