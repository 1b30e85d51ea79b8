// What workers keep in the database, in memory: of several that believe to have a place, only the one with the newest epoch does.

import { addCounters, zeroCounters } from '../../src/runner/counters.ts'
import type { StoredDelivery, StoredPosition } from '../../src/runner/delivery.ts'
import { type Claim, type CounterChanges, LeaseLost, type WorkerStore } from '../../src/runner/worker.ts'
import { finishedPosition, type LostRecords } from '../../src/sources/source.ts'

export interface StorePlace {
  slot: number
  slots: number
  epoch: number
}

export class MemoryStore {
  /** Also of partitions that are finished. */
  readonly positions = new Map<string, StoredPosition>()
  /** The first that was stored of each partition. */
  readonly firstPositions = new Map<string, string>()
  readonly deliveries = new Map<string, StoredDelivery>()
  figures: CounterChanges = zeroCounters
  readonly losses: LostRecords[] = []
  readonly #epochs = new Map<number, number>()

  of({ slot, slots, epoch }: StorePlace): WorkerStore {
    this.#epochs.set(slot, epoch)
    const check = (): void => {
      if (this.#epochs.get(slot) !== epoch) throw new LeaseLost()
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
        return partitions.map((partition) => this.#claim(partition, slot, slots))
      },
      begin: async ({ id, number, ranges, shape }) => {
        check()
        this.deliveries.set(id, structuredClone({ id, slot, slots, number, ranges, shape, isDone: false }))
      },
      refuse: async (deliveryId, badRows) => {
        check()
        const delivery = this.deliveries.get(deliveryId)
        if (!delivery) throw new Error('refused what is not recorded')
        delivery.badRows = structuredClone(badRows)
      },
      finish: async ({ done, behind, positions, figures }) => {
        check()
        for (const id of done) {
          const delivery = this.deliveries.get(id)
          if (delivery) delivery.isDone = true
        }
        for (const id of behind) this.deliveries.delete(id)
        this.#setPositions(positions)
        this.figures = addCounters(this.figures, figures)
      },
    }
  }

  #claim(partition: string, slot: number, slots: number): Claim {
    const known = this.positions.get(partition)
    if (!known) {
      this.positions.set(partition, { partition, position: '', slot })
      return 'mine'
    }
    if (known.slot === undefined) throw new Error('claimed what is not to be claimed')
    if (isFinished(known)) return 'finished'
    // What a worker had that is not there any more is the first one's.
    if (known.slot >= slots && slot === 0) known.slot = slot
    return known.slot === slot ? 'mine' : 'others'
  }

  #setPositions(positions: StoredPosition[]): void {
    for (const { slot: _, ...position } of positions) {
      const { partition } = position
      const known = this.positions.get(partition)
      // Who has claimed it keeps it, and what is finished stays so.
      if (known && isFinished(known)) continue
      const claimed = known?.slot === undefined ? {} : { slot: known.slot }
      this.positions.set(partition, structuredClone({ ...position, ...claimed }))
      if (!this.firstPositions.has(partition)) this.firstPositions.set(partition, position.position)
    }
  }
}

function isFinished({ slot, position }: StoredPosition): boolean {
  return slot !== undefined && position === finishedPosition
}
