// What workers keep in the database, in memory: of several that believe to have a place, only the one with the newest epoch does.
import type { StoredDelivery, StoredPosition } from '../../src/runner/delivery.ts'
import { addFigures, noFigures } from '../../src/runner/figures.ts'
import { type FigureChanges, PlaceLost, type WorkerStore } from '../../src/runner/worker.ts'

export interface StorePlace {
  slot: number
  slots: number
  epoch: number
}

export class MemoryStore {
  readonly positions = new Map<string, StoredPosition>()
  /** The first that was stored of each partition. */
  readonly firstPositions = new Map<string, string>()
  readonly deliveries = new Map<string, StoredDelivery>()
  figures: FigureChanges = noFigures
  readonly #epochs = new Map<number, number>()

  of({ slot, slots, epoch }: StorePlace): WorkerStore {
    this.#epochs.set(slot, epoch)
    const check = (): void => {
      if (this.#epochs.get(slot) !== epoch) throw new PlaceLost()
    }
    return {
      listPositions: async () => structuredClone([...this.positions.values()]),
      listDeliveries: async () =>
        structuredClone([...this.deliveries.values()].toSorted((one, other) => one.number - other.number)),
      setPositions: async (positions) => {
        check()
        this.#setPositions(positions)
      },
      begin: async ({ id, number, ranges }) => {
        check()
        this.deliveries.set(id, structuredClone({ id, slot, slots, number, ranges, isDone: false }))
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
        this.figures = addFigures(this.figures, figures)
      },
    }
  }

  #setPositions(positions: StoredPosition[]): void {
    for (const position of positions) {
      this.positions.set(position.partition, structuredClone(position))
      const { partition } = position
      if (!this.firstPositions.has(partition)) this.firstPositions.set(partition, position.position)
    }
  }
}
