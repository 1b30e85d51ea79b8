// A worker that loads the objects that a queue announces, and what must be true when it has done so.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { notARow } from '../../src/runner/queue/given-up.ts'
import type { WorkerEnd } from '../../src/runner/worker.ts'
import { finishedPosition, type SourceReader } from '../../src/sources/source.ts'
import type { LineQueue } from './line-queue.ts'
import { lineEncoders } from './line-rows.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from './runner-world.ts'

export const batchSize = { rows: 3, bytes: 1_000, note: () => undefined }

export interface QueueWorld extends RunnerWorld {
  queue: LineQueue
  removedTooEarly: string[]
}

export function makeQueueWorld(
  queue: LineQueue,
  more: Partial<WorldOptions> & { isDivisible?: boolean } = {},
): QueueWorld {
  const { isDivisible = true, ...rest } = more
  const world = makeRunnerWorld({
    kind: 'objectStorage',
    hasQueue: true,
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10, 4, 17, 100], isDivisible }) },
    settings: { object_storage_max_file_count: 3, object_storage_polling_interval_ms: 1 },
    makeSource: (pass) => queue.source(pass),
    ...rest,
  })
  const removedTooEarly: string[] = []
  queue.removed = (partition) => {
    if (!isDurable(world, queue, partition)) removedTooEarly.push(partition)
  }
  return { ...world, queue, removedTooEarly }
}

export function linesIn(text: string): string[] {
  return text.split('\n').slice(0, -1)
}

export const isGood = (line: string): boolean => !/BAD|UNREADABLE/.test(line)

/** Whether the table or the rejected rows contain it. */
function isDurable({ engine, store }: RunnerWorld, queue: LineQueue, partition: string): boolean {
  if (store.positions.get(partition)?.position !== finishedPosition) return false
  const isKept = [...engine.badRows.values()].some((row) => row.partition === partition && row.meta === notARow)
  const lines = linesIn(queue.versions.get(partition) ?? '').filter(isGood)
  return isKept || lines.every((line) => engine.lines.includes(line))
}

export function keptTexts({ engine }: RunnerWorld, isOfRows: boolean): string[] {
  const kept = [...engine.badRows.values()].filter(({ meta }) => (meta !== notARow) === isOfRows)
  return kept.map(({ raw }) => Buffer.from(raw).toString()).toSorted()
}

export function assertDone({ store, queue, removedTooEarly }: QueueWorld, context: string): void {
  assert.deepEqual(removedTooEarly, [], context)
  assert.equal(store.deliveries.size, 0, context)
  assert.equal(queue.messages.length, 0, context)
  const open = [...store.positions.values()].filter(
    ({ workerIndex, position }) => workerIndex !== undefined && position === '',
  )
  assert.deepEqual(open, [], context)
}

export async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; round < 2_000 && !isSo(); round++) await wait(5)
  assert.ok(isSo(), 'it did not come to pass')
}

interface Running {
  world: QueueWorld
  stop(): Promise<WorkerEnd>
}

export async function running(queue: LineQueue, more: Partial<WorldOptions> = {}): Promise<Running> {
  const world = makeQueueWorld(queue, more)
  const worker = world.newWorker()
  const ended = worker.run()
  const stop = (): Promise<WorkerEnd> => {
    worker.stop()
    return ended
  }
  return { world, stop }
}

export const slowPolls = { object_storage_polling_interval_ms: 60_000 }

/** With the additional parts of its readers. */
export function withReaders(
  queue: LineQueue,
  more: (reader: SourceReader) => Partial<SourceReader>,
): Partial<WorldOptions> {
  return {
    makeSource: (pass) => {
      const source = queue.source(pass)
      const open: typeof source.open = async (...given) => {
        const reader = await source.open(...given)
        return { ...reader, ...more(reader) }
      }
      return { ...source, open }
    },
  }
}
