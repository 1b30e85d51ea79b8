// What the transport says, as a value of CSV or TabSeparated.
import { countOf, dayText, momentText } from './column-timestamps.ts'
import { parseType } from './engine-type.ts'

/** Null stands for the default of the column, as in all that is delimited. */
export function delimitedValue(value: unknown, type: string, format: 'CSV' | 'TabSeparated'): string {
  if (value === null || value === undefined) return '\\N'
  const text = value instanceof Date ? dateText(value, type) : String(value)
  return format === 'CSV'
    ? `"${text.replaceAll('"', '""')}"`
    : text.replaceAll(/[\\\t\n\r]/g, (found) => escapes[found]!)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function dateText(moment: Date, type: string): string {
  const parsed = parseType(type)
  switch (parsed.name) {
    case 'Date':
    case 'Date32':
      return dayText(moment)
    case 'DateTime':
    case 'DateTime32':
      // Old engines misread seconds here.
      return `${moment.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`
    case 'DateTime64':
      return moment.toISOString()
    default:
      return /^(?:U?Int|Float|Decimal)/.test(parsed.name) ? String(countOf(moment, parsed)) : momentText(moment)
  }
}
