// Checks whether columns can be filled from Parquet and Avro files, which the engine decodes: only from fields of the file, each
// with one type. A probe and a running pipe must return the same.
import { excerptOf } from '../undecodable.ts'

export type WholeFormat = 'Parquet' | 'Avro'

export interface ColumnOfFile {
  name: string
  type: string
  field: string
}

/** Metadata of the store, which is not in the file. */
const ofStore = ['_path', '_file', '_size', '_time']

/** Problems that can be detected without a file, each as the middle of a sentence. */
export function wholeFileProblems(columns: readonly ColumnOfFile[], format: WholeFormat): string[] {
  const types = new Map<string, string>()
  return columns.flatMap(({ name, type, field }) => {
    const other = types.get(field) ?? type
    types.set(field, other)
    const takes = `the column ${excerptOf(name, 100)} takes from ${excerptOf(field, 100)}`
    if (ofStore.includes(field)) return `${takes}, which cannot be put into ${format}`
    // For a nullable record, the engine would find no value and store the default.
    if (format === 'Avro' && field.includes('.'))
      return `${takes}, and paths into records cannot be read from ${format}`
    return other === type ? [] : `${takes}, as one of another type does, and ${format} can give a field only one type`
  })
}

/** Type of fields that the engine cannot read from an Avro file. */
export const unreadable = 'Nothing'

/** Includes lists and maps of unreadable types. */
export function isUnreadable(type: string): boolean {
  return /(?:^|[(, ])Nothing\)*$/.test(type)
}

/**
 * Why the engine cannot read a field of an Avro file into a column; completes "the field … , which". `declared` is the type from
 * schema discovery. The engine converts few types: it rejects the file, or interprets the number as another timestamp.
 */
export function avroFileProblem(declared: string, type: string): string | undefined {
  const [from, to] = [bareType(declared), bareType(type)]
  if (isUnreadable(from)) return 'the engine cannot read from Avro files: it may have several types, or itself in it'
  if (!checkedTypes.test(to) || readable(from, to)) return undefined
  return `the engine reads from Avro files only as ${excerptOf(declared, 200).slice(1, -1)}`
}

const checkedTypes = /^(?:String|FixedString|Enum|U?Int|Float|Decimal\(|Bool|Date|UUID|Array|Map|Tuple|Variant)/

function readable(from: string, to: string): boolean {
  const nested = /^(?:Array|Map|Tuple|Variant)\b/.exec(from)?.[0]
  if (nested !== undefined) return to.startsWith(nested)
  if (from.startsWith('Decimal')) return to === from
  const timestamp = /^DateTime64\(\d/.exec(from)?.[0]
  if (timestamp !== undefined) return to.startsWith(timestamp) || /^U?Int64$/.test(to)
  return !/^(?:Int|Float|Bool|Date)/.test(from) || !/^(?:String|FixedString|UUID|Array|Map|Tuple|Variant)/.test(to)
}

/** Without blanks and wrappers such as Nullable. */
function bareType(type: string): string {
  const text = type.slice(0, 4096).replaceAll(/\s/g, '')
  const inner = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(text)?.[1]
  return inner === undefined ? text : bareType(inner)
}
