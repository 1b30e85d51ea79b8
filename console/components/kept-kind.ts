// What is kept in place of a rejected row: where a queue tells of objects, also messages that led nowhere and files that
// could not be loaded. The API tells them apart by their partition and position.
import type { PipeBadRow } from '../../src/client/shapes.ts'

export type KeptKind = 'row' | 'message' | 'file'

export function keptKindOf({ partition, position }: Pick<PipeBadRow, 'partition' | 'position'>): KeptKind {
  const isMessage = partition.startsWith('message:')
  if (!isMessage && !partition.startsWith('object:')) return 'row'
  if (position.startsWith('the object ')) return 'file'
  return isMessage ? 'message' : 'row'
}
