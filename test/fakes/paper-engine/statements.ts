// Parser of the paper engine, and its statements other than SELECT and INSERT.
import {
  contextOf,
  type Execution,
  type Outcome,
  tableOf,
  takePairs,
  takeSettings,
  takeTableName,
} from './execution.ts'
import { type Expression, parseExpression, takeType } from './expressions.ts'
import { writeRows } from './formats.ts'
import { isTrue } from './functions.ts'
import { insert } from './insert.ts'
import { parseSelect } from './select.ts'
import { type PaperColumn, type PaperTable, partitionOf } from './storage.ts'
import { SqlError, Tokens } from './tokens.ts'
import { defaultOf, type Row } from './values.ts'

/** `text` is the complete request, including insert data. */
export function execute(text: string, execution: Execution): Outcome {
  const tokens = new Tokens(text)
  if (tokens.takeIf('INSERT', 'INTO')) return insert(tokens, execution)
  const outcome = executePlain(tokens, execution)
  tokens.takeIf(';')
  if (tokens.peek().kind !== 'end') throw tokens.unexpected('the end')
  return outcome
}

const nothing: Outcome = { answer: Buffer.alloc(0) }

function executePlain(tokens: Tokens, execution: Execution): Outcome {
  if (tokens.is('SELECT')) return select(tokens, execution)
  if (tokens.takeIf('CREATE', 'TABLE')) return createTable(tokens, execution)
  if (tokens.takeIf('CREATE', 'MATERIALIZED', 'VIEW')) return createView(tokens, execution)
  if (tokens.takeIf('CREATE', 'DATABASE')) {
    tokens.takeIf('IF', 'NOT', 'EXISTS')
    execution.storage.databases.add(tokens.takeName())
    return nothing
  }
  if (tokens.takeIf('ALTER', 'TABLE')) return alterTable(tokens, execution)
  if (tokens.takeIf('DROP', 'TABLE')) return dropTable(tokens, execution)
  if (tokens.takeIf('TRUNCATE', 'TABLE')) {
    tokens.takeIf('IF', 'EXISTS')
    tableOf(tokens, execution).rows = []
    return nothing
  }
  if (tokens.takeIf('EXISTS')) {
    tokens.takeIf('TABLE')
    const { database, name } = takeTableName(tokens, execution)
    const isThere = execution.storage.tables.has(`${database}.${name}`)
    const format = takeFormat(tokens)
    return { answer: writeRows(format, ['result'], [[isThere ? 1 : 0]]) }
  }
  if (tokens.is('KILL') || tokens.is('OPTIMIZE') || tokens.is('SYSTEM')) {
    while (tokens.peek().kind !== 'end') tokens.take()
    return nothing
  }
  throw tokens.unexpected('a statement')
}

function select(tokens: Tokens, execution: Execution): Outcome {
  const run = parseSelect(tokens, contextOf(execution))
  takeSettings(tokens, execution)
  const format = takeFormat(tokens)
  takeSettings(tokens, execution)
  const { names, rows } = run()
  const isVersion = names.length === 1 && /^version\(\)$/.test(names[0] ?? '')
  return { answer: writeRows(format, names, isVersion ? [['18.16.1']] : rows) }
}

function takeFormat(tokens: Tokens): string {
  return tokens.takeIf('FORMAT') ? tokens.takeName() : 'TabSeparated'
}

const expressionOf = (tokens: Tokens, execution: Execution): Expression =>
  parseExpression(tokens, (inner) => {
    const run = parseSelect(inner, contextOf(execution))
    return () => run().rows.map((values) => values[0] ?? null)
  })

function takeColumn(tokens: Tokens, execution: Execution): PaperColumn {
  const column: PaperColumn = { name: tokens.takeName(), type: takeType(tokens) }
  defaultOf(column.type)
  if (tokens.takeIf('DEFAULT')) column.defaultExpression = expressionOf(tokens, execution)
  if (tokens.takeIf('CODEC', '(')) {
    for (let depth = 1; depth > 0; ) {
      const { value } = tokens.take()
      if (value === '(') depth++
      if (value === ')') depth--
    }
  }
  return column
}

function createTable(tokens: Tokens, execution: Execution): Outcome {
  const { storage } = execution
  const mayExist = tokens.takeIf('IF', 'NOT', 'EXISTS')
  const { database, name } = takeTableName(tokens, execution)
  let columns: PaperColumn[] = []
  if (tokens.takeIf('AS')) columns = tableOf(tokens, execution).columns.map((column) => ({ ...column }))
  else {
    tokens.must('(')
    while (columns.length === 0 || tokens.takeIf(',')) columns.push(takeColumn(tokens, execution))
    tokens.must(')')
  }
  const table = takeEngine(tokens, execution, { database, name, columns })
  if (!storage.databases.has(database)) throw new SqlError(81, `Database ${database} does not exist`)
  if (storage.tables.has(`${database}.${name}`)) {
    if (mayExist) return nothing
    throw new SqlError(57, `Table ${database}.${name} already exists`)
  }
  const twice = columns.find((column, index) => columns.findIndex((other) => other.name === column.name) < index)
  if (twice) throw new SqlError(44, `Cannot add column ${twice.name}: it already exists`)
  storage.tables.set(`${database}.${name}`, table)
  return nothing
}

function createView(tokens: Tokens, execution: Execution): Outcome {
  const { storage } = execution
  const { database, name } = takeTableName(tokens, execution)
  tokens.must('TO')
  const target = tableOf(tokens, execution)
  tokens.must('AS')
  const viewed: { source?: string; rows: Row[] } = { rows: [] }
  const run = parseSelect(tokens, { ...contextOf(execution), viewed })
  const { source } = viewed
  if (source === undefined || !storage.tables.has(source)) throw new SqlError(60, `Table ${source} does not exist`)
  if (storage.tables.has(`${database}.${name}`)) throw new SqlError(57, `Table ${database}.${name} already exists`)
  storage.tables.set(`${database}.${name}`, {
    database,
    name,
    columns: [],
    engine: 'MaterializedView',
    engineFull: 'MaterializedView',
    engineParameters: [],
    primaryKey: '',
    settings: {},
    rows: [],
    view: {
      source,
      target: `${target.database}.${target.name}`,
      select(rows) {
        viewed.rows = rows
        const selected = run()
        return selected.rows.map((values) =>
          Object.fromEntries(selected.names.map((each, index) => [each, values[index] ?? null])),
        )
      },
    },
  })
  return nothing
}

function takeEngine(
  tokens: Tokens,
  execution: Execution,
  parts: { database: string; name: string; columns: PaperColumn[] },
): PaperTable {
  tokens.must('ENGINE')
  tokens.takeIf('=')
  const begin = tokens.peek().begin
  const engine = tokens.takeName()
  const engineParameters: string[] = []
  if (tokens.takeIf('(')) {
    while (!tokens.takeIf(')')) {
      tokens.takeIf(',')
      engineParameters.push(expressionOf(tokens, execution).text)
    }
  }
  const table: PaperTable = {
    ...parts,
    engine,
    engineFull: '',
    engineParameters,
    primaryKey: '',
    settings: {},
    rows: [],
  }
  for (;;) {
    if (tokens.takeIf('PARTITION', 'BY')) table.partitionBy = expressionOf(tokens, execution)
    else if (tokens.takeIf('ORDER', 'BY')) table.orderBy = expressionOf(tokens, execution)
    else if (tokens.takeIf('PRIMARY', 'KEY')) table.primaryKey = expressionOf(tokens, execution).text
    else if (tokens.takeIf('SETTINGS')) table.settings = Object.fromEntries(takePairs(tokens))
    else break
  }
  if ('non_replicated_deduplication_window' in table.settings) {
    throw new SqlError(115, 'Unknown setting non_replicated_deduplication_window')
  }
  if (engine.endsWith('MergeTree') && !table.orderBy) throw new SqlError(36, 'ORDER BY is missing')
  return { ...table, engineFull: tokens.text.slice(begin, tokens.peek().begin).trim() }
}

function alterTable(tokens: Tokens, execution: Execution): Outcome {
  const table = tableOf(tokens, execution)
  do {
    if (tokens.takeIf('ADD', 'COLUMN')) {
      const mayExist = tokens.takeIf('IF', 'NOT', 'EXISTS')
      const column = takeColumn(tokens, execution)
      if (tokens.takeIf('AFTER')) tokens.takeName()
      if (!table.columns.some(({ name }) => name === column.name)) {
        table.columns.push(column)
        for (const row of table.rows) row[column.name] = defaultOf(column.type)
      } else if (!mayExist) throw new SqlError(44, `Cannot add column ${column.name}: it already exists`)
    } else if (tokens.takeIf('MODIFY', 'COLUMN')) {
      const column = takeColumn(tokens, execution)
      table.columns = table.columns.map((other) => (other.name === column.name ? column : other))
    } else if (tokens.takeIf('DROP', 'COLUMN')) {
      tokens.takeIf('IF', 'EXISTS')
      const name = tokens.takeName()
      table.columns = table.columns.filter((column) => column.name !== name)
      for (const row of table.rows) delete row[name]
    } else if (tokens.takeIf('DROP', 'PARTITION')) {
      const partition = expressionOf(tokens, execution).evaluate({}, [])
      table.rows = table.rows.filter((row) => partitionOf(table, row) !== String(partition))
    } else {
      tokens.must('DELETE', 'WHERE')
      const where = expressionOf(tokens, execution)
      table.rows = table.rows.filter((row) => !isTrue(where.evaluate(row, [row])))
    }
  } while (tokens.takeIf(','))
  return nothing
}

function dropTable(tokens: Tokens, execution: Execution): Outcome {
  const mayBeMissing = tokens.takeIf('IF', 'EXISTS')
  const { database, name } = takeTableName(tokens, execution)
  const wasThere = execution.storage.tables.delete(`${database}.${name}`)
  if (!wasThere && !mayBeMissing) throw new SqlError(60, `Table ${database}.${name} does not exist`)
  return nothing
}
