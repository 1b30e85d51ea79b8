// Exactly once on engines that know inserts again by tokens. A MergeTree that is not replicated writes a token down before the rows
// that it stands for: an engine that dies in between, or cannot write on, takes the batch for one that it has. So a few rows of a
// repeated batch are looked for afterwards, in each partition, and what is not there goes in by another token. What must stay true:
// the first token is sent first, whatever is known, since from then on what is still on its way by it inserts nothing.
import { randomBytes } from 'node:crypto'
import { type EngineColumn, EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { insertText, listOf } from './insert-text.ts'
import { quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, parseRows, queryTables, stagingTable, type TablePlace } from './side-tables.ts'
import { forgotten, type SinkParts } from './staged-insert.ts'

/** Of each partition. A block goes into a partition as a whole or not at all, so a few rows tell of all. */
const sampledRows = 20
/** A second token may be written down without its rows, too. */
const mostTokens = 3
/** Of a table that cannot be searched by its key: more are not read through. */
const mostReadRows = 10_000_000
const readTimeoutMs = 300_000

/** The token says to the engine which batch it is; where the table keeps none, it says nothing. */
export async function insertByToken(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  const more = parts.capabilities.hasTokens ? { insert_deduplication_token: insert.token } : {}
  const { writtenRows, sentBytes } = await sendRows(parts, insertText(parts.table, insert), { insert, more }, signal)
  if (insert.isRepeat && parts.areTokensFirst && writtenRows !== 0) await makeWhole(parts, insert, signal)
  return { rows: writtenRows, sentBytes }
}

async function makeWhole(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<void> {
  const { client, capabilities, table, place, partitionKey } = parts
  const attempt = randomBytes(6).toString('hex')
  const staged = stagingTable(table, place, { token: insert.token, attempt, purpose: 'typed' })
  const columns = listOf(insert.columns.map(({ column }) => column))
  try {
    const lookFor = await ifPossible(() => stage(parts, insert, staged, signal))
    for (let number = 1; lookFor && number < mostTokens; number++) {
      const missing = await ifPossible(lookFor)
      if (!missing || missing.length === 0) return
      const text =
        `INSERT INTO ${fullName(table)} (${columns}) SELECT ${columns} FROM ${fullName(staged)} ` +
        `WHERE ${partitionText(partitionKey)} IN (${missing.map(quoteText).join(', ')})`
      const settings = {
        ...moveSettings(capabilities, insert.settings),
        insert_deduplication_token: `${insert.token}-${number}`,
      }
      await client.send(text, [], { settings, signal })
    }
  } finally {
    parts.drop(staged)
  }
}

/** Without the rights to look, and of rows that cannot be compared, the token is taken at its word. */
async function ifPossible<Result>(look: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof EngineError && error.kind !== 'passing') return undefined
    throw error
  }
}

/** What it gives finds the partitions that have none of the rows; undefined when nobody can tell. */
async function stage(
  parts: SinkParts,
  insert: Insert,
  staged: TablePlace,
  signal: AbortSignal,
): Promise<(() => Promise<string[]>) | undefined> {
  const { client, table } = parts
  const known = knownText(parts, insert)
  const within = known && (await keyCondition(parts, insert, { staged, known }, signal))
  if (!known || !within) return undefined
  await client.query(`CREATE TABLE ${fullName(staged)} AS ${fullName(table)} ENGINE = Memory`, { signal })
  await sendRows(parts, insertText(staged, insert), { insert }, signal)
  return () => findMissing(parts, insert, { staged, known, within }, signal)
}

/** Types whose values need not look the same in every part of a table. */
const changeable = /JSON|Object|Dynamic|Variant|AggregateFunction|QBit/

/** By what a row is known again. */
function knownText({ types }: SinkParts, { columns, varying = [] }: Insert): string | undefined {
  const names = columns
    .map(({ column }) => column)
    .filter((column) => !varying.includes(column) && !changeable.test(types.get(column) ?? ''))
  return names.length === 0 ? undefined : `cityHash64(tuple(${listOf(names)}))`
}

function partitionText(partitionKey: string): string {
  return partitionKey === '' ? "''" : `toString(tuple(${partitionKey}))`
}

type Within = (sampled: string) => string

/** Reads only where the rows must be; undefined when the whole table would have to be read, and is large. */
async function keyCondition(
  { client, table }: SinkParts,
  { columns }: Insert,
  { staged, known }: { staged: TablePlace; known: string },
  signal: AbortSignal,
): Promise<Within | undefined> {
  const [database, name] = [quoteText(table.database), quoteText(table.table)]
  const [tables, keyColumns] = await Promise.all([
    queryTables(
      client,
      `SELECT sorting_key, total_rows FROM system.tables WHERE database = ${database} AND name = ${name} FORMAT JSONEachRow`,
      signal,
    ),
    queryTables(
      client,
      `SELECT name FROM system.columns WHERE database = ${database} AND table = ${name} AND is_in_sorting_key = 1 ` +
        'FORMAT JSONEachRow',
      signal,
    ),
  ])
  const [found] = parseRows<{ sorting_key: string; total_rows: string | number | null }>(tables)
  const filled = new Set(columns.map(({ column }) => column))
  // What the engine has put into a key by itself is not what it puts there now.
  const isFilled = parseRows<Pick<EngineColumn, 'name'>>(keyColumns).every((column) => filled.has(column.name))
  const key = found?.sorting_key ?? ''
  if (key !== '' && isFilled) {
    return (sampled) => `(${key}) IN (SELECT ${key} FROM ${fullName(staged)} WHERE ${known} IN (${sampled}))`
  }
  return Number(found?.total_rows ?? Number.POSITIVE_INFINITY) <= mostReadRows ? () => '1' : undefined
}

/** As no column of a user is called. */
interface Sample {
  _penstock_place: string
  _penstock_row: string
}

async function findMissing(
  { client, capabilities, table, partitionKey }: SinkParts,
  insert: Insert,
  { staged, known, within }: { staged: TablePlace; known: string; within: Within },
  signal: AbortSignal,
): Promise<string[]> {
  const read = async <Row>(text: string): Promise<Row[]> => {
    const settings = { ...(capabilities.hasSetting('final') && { final: 0 }), transform_null_in: 1 }
    return parseRows<Row>(
      await client.query(`${text} FORMAT JSONEachRow`, { settings, signal, timeoutMs: readTimeoutMs }),
    )
  }
  const samples = await read<Sample>(
    `SELECT DISTINCT ${partitionText(partitionKey)} AS _penstock_place, toString(${known}) AS _penstock_row ` +
      `FROM ${fullName(staged)} ORDER BY _penstock_place, _penstock_row LIMIT ${sampledRows} BY _penstock_place`,
  )
  if (samples.length === 0) throw forgotten(client)
  const sampled = samples.map(({ _penstock_row: row }) => row).join(', ')
  const there = await read<Pick<Sample, '_penstock_row'>>(
    `SELECT DISTINCT toString(${known}) AS _penstock_row FROM ${fullName(table)} ` +
      `WHERE ${within(sampled)} AND ${known} IN (${sampled})`,
  )
  const found = new Set(there.map(({ _penstock_row: row }) => row))
  const byPlace = Map.groupBy(samples, ({ _penstock_place: place }) => place)
  return [...byPlace].filter(([, some]) => !isThere(some, found, insert)).map(([place]) => place)
}

/** Some rows may be like others that were there before, and some may be gone already, by a TTL. */
function isThere(samples: Sample[], found: ReadonlySet<string>, { varying }: Insert): boolean {
  const count = samples.filter(({ _penstock_row: row }) => found.has(row)).length
  // Of rows that an earlier attempt may have had otherwise, one is enough.
  return varying ? count > 0 : 2 * count >= samples.length
}
