// Objects that are one piece, as they are kept when they are refused: by their name, because no replay can send them.
import type { ObjectEncoder } from '../../formats/encode/encoder.ts'
import type { Rows } from '../rows.ts'
import { notARow } from './given-up.ts'

/** The same encoder; what cannot be divided says that it is no row. */
export function tellWholeObjects(encoder: ObjectEncoder): ObjectEncoder {
  return {
    async *pieces(object, options) {
      for await (const piece of encoder.pieces(object, options)) yield { ...piece, rows: told(piece.rows) }
    },
    piece: async (object, options) => told(await encoder.piece(object, options)),
    join: (parts) => encoder.join(parts),
  }
}

function told(rows: Rows): Rows {
  if (rows.isDivisible) return rows
  return { ...rows, keep: (index) => ({ ...rows.keep(index), meta: notARow }) }
}
