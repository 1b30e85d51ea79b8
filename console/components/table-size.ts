import type { ServiceTable } from '../../src/client/shapes.ts'
import { bytesOf, countOf } from './amounts.ts'

/** `48,211 rows, 1.31 MB on disk`; the table engine if the engine reports no size. */
export function tableSize({ rows, bytes, engine }: Pick<ServiceTable, 'rows' | 'bytes' | 'engine'>): string {
  if (rows === null || bytes === null) return engine
  // Until a merge, such an engine also counts rows that were replaced or deleted.
  const versions = engine.includes('Replacing') ? ' stored, with older versions' : ''
  return `${countOf(rows, 'row')}${versions}, ${bytesOf(bytes)} on disk`
}
