// Shapes of database, table and column names.
import { Type } from '../lib/schema.ts'

export const Name = (description: string) => Type.String({ minLength: 1, maxLength: 255, description })

export const ColumnNames = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 2000, uniqueItems: true, description })
