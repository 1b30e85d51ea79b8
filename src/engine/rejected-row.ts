/** A row that the engine rejects. `index` is that of the record in the delivery, or of the row in the piece of the object. */
export interface RejectedRow {
  index: number
  reason: string
}
