// Deduplication token of a delivery.
import { createHash } from 'node:crypto'
import type { DeliveryRange } from '../progress/delivery.ts'

/** Deterministic: the same ranges of the same pipe always have the same token. */
export function tokenOf(pipeId: string, ranges: DeliveryRange[]): string {
  const canonical = ranges.map(({ partition, from, next, beginByte, endByte }) => [
    partition,
    from,
    next,
    beginByte ?? 0,
    endByte ?? null,
  ])
  const digest = createHash('sha256')
    .update(JSON.stringify([pipeId, canonical]))
    .digest('hex')
  return `penstock-${digest.slice(0, 40)}`
}
