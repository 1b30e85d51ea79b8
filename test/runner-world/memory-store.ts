// State of workers in memory instead of the database. Of several workers with the same index, only the newest epoch has the lease.

import type { Claim, StoredDelivery, StoredPosition } from '../../src/progress/delivery.ts'
import type { CounterChanges } from '../../src/progress/pipe-counters.ts'
import { addCounters, zeroCounters } from '../../src/runner/counters.ts'
import { LeaseLost, type WorkerStore } from '../../src/runner/worker.ts'
import { finishedPosition, type LostRecords } from '../../src/sources/source.ts'

export interface MemoryLease {
  workerIndex: number
  workerCount: number
  epoch: number
}

export class MemoryStore {
  /** Including finished partitions. */
  readonly positions = new Map<string, StoredPosition>()
  /** First stored position of each partition. */
  readonly firstPositions = new Map<string, string>()
  readonly deliveries = new Map<string, StoredDelivery>()
  counters: CounterChanges = zeroCounters
  readonly losses: LostRecords[] = []
  readonly #epochs = new Map<number, number>()

  of({ workerIndex, workerCount, epoch }: MemoryLease): WorkerStore {
    this.#epochs.set(workerIndex, epoch)
    const check = (): void => {
      if (this.#epochs.get(workerIndex) !== epoch) throw new LeaseLost()
    }
    return {
      listPositions: async () =>
        structuredClone([...this.positions.values()].filter((position) => !isFinished(position))),
      listDeliveries: async () =>
        structuredClone([...this.deliveries.values()].toSorted((one, other) => one.number - other.number)),
      setPositions: async (positions) => {
        check()
        this.#setPositions(positions)
      },
      keepLosses: async ({ positions, losses }) => {
        check()
        this.#setPositions(positions)
        this.losses.push(...structuredClone(losses))
      },
      claim: async (partitions) => {
        check()
        return partitions.map((partition) => this.#claim(partition, workerIndex, workerCount))
      },
      begin: async ({ id, number, ranges, shape }) => {
        check()
        this.deliveries.set(id, structuredClone({ id, workerIndex, workerCount, number, ranges, shape, isDone: false }))
      },
      reject: async (deliveryId, badRows) => {
        check()
        const delivery = this.deliveries.get(deliveryId)
        if (!delivery) throw new Error('rejected rows of a delivery that is not recorded')
        delivery.badRows = structuredClone(badRows)
      },
      finish: async ({ done, behind, positions, counters }) => {
        check()
        for (const id of done) {
          const delivery = this.deliveries.get(id)
          if (delivery) delivery.isDone = true
        }
        for (const id of behind) this.deliveries.delete(id)
        this.#setPositions(positions)
        this.counters = addCounters(this.counters, counters)
      },
    }
  }

  #claim(partition: string, workerIndex: number, workerCount: number): Claim {
    const known = this.positions.get(partition)
    if (!known) {
      this.positions.set(partition, { partition, position: '', workerIndex })
      return 'mine'
    }
    if (known.workerIndex === undefined) throw new Error('the partition cannot be claimed')
    if (isFinished(known)) return 'finished'
    // A claim of a worker that no longer exists passes to the first worker.
    if (known.workerIndex >= workerCount && workerIndex === 0) known.workerIndex = workerIndex
    return known.workerIndex === workerIndex ? 'mine' : 'others'
  }

  #setPositions(positions: StoredPosition[]): void {
    for (const { workerIndex: _, ...position } of positions) {
      const { partition } = position
      const known = this.positions.get(partition)
      // The owner of a claim does not change, and a finished partition stays finished.
      if (known && isFinished(known)) continue
      const claimed = known?.workerIndex === undefined ? {} : { workerIndex: known.workerIndex }
      this.positions.set(partition, structuredClone({ ...position, ...claimed }))
      if (!this.firstPositions.has(partition)) this.firstPositions.set(partition, position.position)
    }
  }
}

function isFinished({ workerIndex, position }: StoredPosition): boolean {
  return workerIndex !== undefined && position === finishedPosition
}
