// INSERT of the paper engine, with data or from a SELECT.
import { contextOf, type Execution, type Outcome, tableOf, takeSettings } from './execution.ts'
import { type Field, readBody } from './formats.ts'
import { parseSelect } from './select.ts'
import { completeRow, type PaperColumn, type PaperTable, type PaperView, storeRows, viewsOf } from './storage.ts'
import { SqlError, type Tokens } from './tokens.ts'
import { type Reading, type Row, readValue } from './values.ts'

export function insert(tokens: Tokens, execution: Execution): Outcome {
  tokens.takeIf('TABLE')
  const table = tableOf(tokens, execution)
  const names: string[] = []
  if (tokens.takeIf('(')) {
    while (names.length === 0 || tokens.takeIf(',')) names.push(tokens.takeName())
    tokens.must(')')
  }
  const into = names.length === 0 ? table.columns : names.map((name) => columnOf(table, name))
  takeSettings(tokens, execution)
  const rows = tokens.is('SELECT') ? insertedBySelect(tokens, execution, into) : insertedRows(tokens, execution, into)
  const complete = rows.map((row) => completeRow(table, row))
  const shown = viewsOf(execution.storage, table).map((view) => shownBy(view, complete, execution))
  storeRows(table, complete)
  // A view on the target of a view sees nothing of the insert.
  for (const { target, rows: seen } of shown) storeRows(target, seen)
  return { answer: Buffer.alloc(0) }
}

/** A view sets no columns that its SELECT does not name. */
function shownBy(view: PaperView, rows: Row[], execution: Execution): { target: PaperTable; rows: Row[] } {
  const target = execution.storage.tables.get(view.target)
  if (!target) throw new SqlError(60, `Table ${view.target} does not exist`)
  const seen = view.select(rows)
  return {
    target,
    rows: seen.map((row) =>
      Object.fromEntries(
        target.columns.map(({ name, type }) => {
          if (!Object.hasOwn(row, name)) throw new SqlError(10, `Expected column ${name}: while pushing to view`)
          return [name, readValue(row[name], type, readingOf(execution))]
        }),
      ),
    ),
  }
}

function columnOf(table: PaperTable, name: string): PaperColumn {
  const found = table.columns.find((column) => column.name === name)
  if (!found) throw new SqlError(16, `No such column ${name} in table ${table.database}.${table.name}`)
  return found
}

function insertedRows(tokens: Tokens, execution: Execution, into: PaperColumn[]): Row[] {
  tokens.must('FORMAT')
  return bodyRows(takeData(tokens), execution, into)
}

interface Data {
  format: string
  text: string
}

/** Everything after the name of the format is data. */
function takeData(tokens: Tokens): Data {
  const { value: format, end } = tokens.take()
  return { format, text: tokens.text.slice(end).replace(/^[ \t\f]*\r?\n?/, '') }
}

function insertedBySelect(tokens: Tokens, execution: Execution, into: PaperColumn[]): Row[] {
  const run = parseSelect(tokens, contextOf(execution))
  takeSettings(tokens, execution)
  return run().rows.map((values) => {
    if (values.length !== into.length) throw new SqlError(20, 'Number of columns does not match')
    return Object.fromEntries(
      into.map(({ name, type }, index) => [name, readValue(values[index], type, readingOf(execution))]),
    )
  })
}

const readingOf = ({ settings }: Execution): Reading => ({
  bestEffortDates: settings.date_time_input_format === 'best_effort',
  anyAsText: false,
})

function bodyRows({ format, text }: Data, execution: Execution, fields: Field[]): Row[] {
  const { settings, isCut } = execution
  const rows = readBody(format, text, {
    fields,
    delimiter: settings.format_csv_delimiter ?? ',',
    skipUnknown: settings.input_format_skip_unknown_fields === '1',
    isCut,
  })
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  const reading = readingOf(execution)
  return rows.map((row, index) => {
    try {
      const given = Object.entries(row).filter(([, value]) => value !== undefined)
      return Object.fromEntries(given.map(([name, value]) => [name, readValue(value, types.get(name)!, reading)]))
    } catch (error) {
      if (error instanceof SqlError) throw new SqlError(error.code, `${error.message}: (at row ${index + 1})`)
      throw error
    }
  })
}
