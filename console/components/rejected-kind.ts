// Kind of an entry in the list of rejected rows. With a queue, it also has messages without an object and files that could not
// be loaded, which the API distinguishes by partition and position.
import type { PipeBadRow } from '../../src/client/shapes.ts'

export type RejectedKind = 'row' | 'message' | 'file'

export function rejectedKindOf({ partition, position }: Pick<PipeBadRow, 'partition' | 'position'>): RejectedKind {
  const isMessage = partition.startsWith('message:')
  if (!isMessage && !partition.startsWith('object:')) return 'row'
  if (position.startsWith('the object ')) return 'file'
  return isMessage ? 'message' : 'row'
}
