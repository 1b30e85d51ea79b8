import type { ServiceTable } from '../../src/client/shapes.ts'
import { bytesOf, countOf } from './amounts.ts'

/** `48,211 rows, 1.31 MB`; of a table that the engine does not count, its engine. */
export function tableSize({ rows, bytes, engine }: Pick<ServiceTable, 'rows' | 'bytes' | 'engine'>): string {
  return rows === null || bytes === null ? engine : `${countOf(rows, 'row')}, ${bytesOf(bytes)} on disk`
}
