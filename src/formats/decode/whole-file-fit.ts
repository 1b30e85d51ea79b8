// Whether columns can be filled from Parquet and Avro files, which the engine reads itself: from fields of the file, each with one
// type, and from nothing else. A probe and a running pipe must say the same of it.
import { excerptOf } from './decode.ts'

export type WholeFormat = 'Parquet' | 'Avro'

export interface ColumnOfFile {
  name: string
  type: string
  field: string
}

/** What the store says of an object, and no file has. */
const ofStore = ['_path', '_file', '_size', '_time']

/** What can be told without a file, each as the middle of a sentence. */
export function wholeFileProblems(columns: readonly ColumnOfFile[], format: WholeFormat): string[] {
  const types = new Map<string, string>()
  return columns.flatMap(({ name, type, field }) => {
    const other = types.get(field) ?? type
    types.set(field, other)
    const takes = `the column ${excerptOf(name, 100)} takes from ${excerptOf(field, 100)}`
    if (ofStore.includes(field)) return `${takes}, which cannot be put into ${format}`
    // The engine would find nothing in a record that may be null, and store the default.
    if (format === 'Avro' && field.includes('.'))
      return `${takes}, and paths into records cannot be read from ${format}`
    return other === type ? [] : `${takes}, as one of another type does, and ${format} can give a field only one type`
  })
}

/** The type of what the engine cannot read from an Avro file. No value has it. */
export const unreadable = 'Nothing'

/** Also of a list or a map of such. */
export function isUnreadable(type: string): boolean {
  return /(?:^|[(, ])Nothing\)*$/.test(type)
}

/**
 * Why the engine cannot read a field of an Avro file into a column; completes "the field … , which". `declared` is the type that
 * discovery tells. The engine converts little: it refuses the file, or takes the stored number for another moment.
 */
export function avroFileProblem(declared: string, type: string): string | undefined {
  const [from, to] = [bareType(declared), bareType(type)]
  if (isUnreadable(from)) return 'the engine cannot read from Avro files: it may have several types, or itself in it'
  if (!judged.test(to) || readable(from, to)) return undefined
  return `the engine reads from Avro files only as ${excerptOf(declared, 200).slice(1, -1)}`
}

const judged = /^(?:String|FixedString|Enum|U?Int|Float|Decimal\(|Bool|Date|UUID|Array|Map|Tuple|Variant)/

function readable(from: string, to: string): boolean {
  const nested = /^(?:Array|Map|Tuple|Variant)\b/.exec(from)?.[0]
  if (nested !== undefined) return to.startsWith(nested)
  if (from.startsWith('Decimal')) return to === from
  const moment = /^DateTime64\(\d/.exec(from)?.[0]
  if (moment !== undefined) return to.startsWith(moment) || /^U?Int64$/.test(to)
  return !/^(?:Int|Float|Bool|Date)/.test(from) || !/^(?:String|FixedString|UUID|Array|Map|Tuple|Variant)/.test(to)
}

/** Without blanks, and without what may stand around it. */
function bareType(type: string): string {
  const text = type.slice(0, 4096).replaceAll(/\s/g, '')
  const inner = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(text)?.[1]
  return inner === undefined ? text : bareType(inner)
}
