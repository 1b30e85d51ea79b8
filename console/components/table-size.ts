import type { ServiceTable } from '../../src/client/shapes.ts'
import { bytesOf, countOf } from './amounts.ts'

/** `48,211 rows, 1.31 MB`; the table engine if the engine reports no size. */
export function tableSize({ rows, bytes, engine }: Pick<ServiceTable, 'rows' | 'bytes' | 'engine'>): string {
  return rows === null || bytes === null ? engine : `${countOf(rows, 'row')}, ${bytesOf(bytes)} on disk`
}
