// Writes the value of a virtual column as CSV or TabSeparated.
import { countOf, dayText, timestampText } from '../timestamps.ts'
import { parseType } from './engine-type.ts'

/** NULL stands for the default of the column, as everywhere in delimited formats. */
export function delimitedValue(value: unknown, type: string, format: 'CSV' | 'TabSeparated'): string {
  if (value === null || value === undefined) return '\\N'
  const text = value instanceof Date ? dateText(value, type) : String(value)
  return format === 'CSV'
    ? `"${text.replaceAll('"', '""')}"`
    : text.replaceAll(/[\\\t\n\r]/g, (found) => escapes[found]!)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function dateText(date: Date, type: string): string {
  const parsed = parseType(type)
  switch (parsed.name) {
    case 'Date':
    case 'Date32':
      return dayText(date)
    case 'DateTime':
    case 'DateTime32':
      // Older ClickHouse misreads seconds here.
      return `${date.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`
    case 'DateTime64':
      return date.toISOString()
    default:
      return /^(?:U?Int|Float|Decimal)/.test(parsed.name) ? String(countOf(date, parsed)) : timestampText(date)
  }
}
