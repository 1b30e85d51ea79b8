// Marks objects that cannot be divided. When rejected, they are stored by name, because a replay cannot send them.
import type { ObjectEncoder } from '../../formats/encode/encoder.ts'
import type { Rows } from '../../formats/encode/rows.ts'
import { notARow } from './given-up.ts'

/** The same encoder; its indivisible pieces are stored as `notARow`. */
export function markIndivisible(encoder: ObjectEncoder): ObjectEncoder {
  return {
    async *pieces(object, options) {
      for await (const piece of encoder.pieces(object, options)) yield { ...piece, rows: marked(piece.rows) }
    },
    piece: async (object, options) => marked(await encoder.piece(object, options)),
    join: (parts) => encoder.join(parts),
  }
}

function marked(rows: Rows): Rows {
  if (rows.isDivisible) return rows
  return { ...rows, keep: (index) => ({ ...rows.keep(index), meta: notARow }) }
}
