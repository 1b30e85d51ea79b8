// Exactly once on engines that know inserts again by tokens. A MergeTree that is not replicated writes a token down before the rows
// that it stands for: an engine that dies in between, or cannot write on, takes the batch for one that it has. So a few rows of a
// repeated batch are looked for afterwards, and a partition that has none of its own gets them by another token. What must stay true:
// the first token is sent first, whatever is known, since from then on what is still on its way by it inserts nothing; and a batch
// that is there is never taken for one that is not: when in doubt, the token is believed.
import { randomBytes } from 'node:crypto'
import { type EngineColumn, EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { insertText, listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, parseRows, queryTables, stagingTable, type TablePlace } from './side-tables.ts'
import { forgotten, type SinkParts } from './staged-insert.ts'
import { definitionSettings } from './table-statements.ts'

/** Of each partition. A block goes into a partition as a whole or not at all, so a few rows tell of all. */
const sampledRows = 20
/** Of all partitions: what is beyond is believed. */
const mostSamples = 20_000
/** A second token may be written down without its rows, too. */
const mostTokens = 3
/** A key that many rows have in common, or none, would have the whole table read. */
const [mostReadRows, mostReadBytes] = [50_000_000, 10_000_000_000]
const readTimeoutMs = 60_000

/** The token says to the engine which batch it is; where the table keeps none, it says nothing. */
export async function insertByToken(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  const more = parts.capabilities.hasTokens ? { insert_deduplication_token: insert.token } : {}
  const { writtenRows, sentBytes } = await sendRows(parts, insertText(parts.table, insert), { insert, more }, signal)
  const mayBeMissing = insert.isRepeat && parts.areTokensFirst && insert.identity !== 'none'
  if (mayBeMissing && writtenRows !== undefined && writtenRows > 0) await makeWhole(parts, insert, signal)
  return { rows: writtenRows, sentBytes }
}

async function makeWhole(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<void> {
  const { client, capabilities, table, place, partitionKey } = parts
  const attempt = randomBytes(6).toString('hex')
  const staged = stagingTable(table, place, { token: insert.token, attempt, purpose: 'typed' })
  const columns = listOf(insert.columns.map(({ column }) => column))
  try {
    const traits = await ifPossible(signal, () => stage(parts, insert, staged, signal))
    for (let number = 1; traits && number < mostTokens; number++) {
      const missing = await ifPossible(signal, () => findMissing(parts, traits, staged, signal))
      if (!missing || missing.length === 0) return
      const settings = {
        ...moveSettings(capabilities, insert.settings),
        insert_deduplication_token: `${insert.token}-${number}`,
      }
      // One by one: engines of before number what a statement fills, and a token is theirs only with its number.
      for (const partition of missing) {
        const text =
          `INSERT INTO ${fullName(table)} (${columns}) SELECT ${columns} FROM ${fullName(staged)} ` +
          `WHERE ${partitionText(partitionKey)} = ${quoteText(partition)}`
        await client.send(text, [], { settings, signal })
      }
    }
  } finally {
    parts.drop(staged)
  }
}

/** That an engine has too little time or memory for it now need not pass: what the look is for should not hinder the pipe. */
const tooMuch = /^Code: (?:159|160|241)\b/

/** Who may not look, or cannot, believes the token; also when the source of the rows cannot be read a second time. */
async function ifPossible<Result>(signal: AbortSignal, look: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await look()
  } catch (error) {
    const isAway = error instanceof EngineError && error.kind === 'passing' && !tooMuch.test(error.detail)
    if (isAway || signal.aborted) throw error
    return undefined
  }
}

/** By what rows are known again, as expressions of the columns of the table. */
interface Traits {
  row: string
  /** Of the rows that an insert leaves of those that it has. */
  rowOfStaged: string
  /** Empty, or what the rows that become one have in common. */
  groupBy: string
  /** Empty when it cannot be searched by a key. */
  key: string
}

interface FoundTable {
  sorting_key: string
  engine_full: string
}

interface FoundColumn extends EngineColumn {
  default_kind: string
  is_in_sorting_key: number
}

/** Undefined when nobody can tell. */
async function stage(
  parts: SinkParts,
  insert: Insert,
  staged: TablePlace,
  signal: AbortSignal,
): Promise<Traits | undefined> {
  const { client, capabilities, table } = parts
  const where = `database = ${quoteText(table.database)}`
  const ask = async <Row>(text: string): Promise<Row[]> =>
    parseRows<Row>(await queryTables(client, `${text} FORMAT JSONEachRow`, signal))
  const [[found], columns] = await Promise.all([
    ask<FoundTable>(
      `SELECT sorting_key, engine_full FROM system.tables WHERE ${where} AND name = ${quoteText(table.table)}`,
    ),
    ask<FoundColumn>(
      `SELECT name, type, default_kind, is_in_sorting_key FROM system.columns WHERE ${where} AND table = ${quoteText(table.table)}`,
    ),
  ])
  const traits = found && traitsOf(insert, found, columns)
  if (!traits || (await hasPolicies(parts, signal))) return undefined
  const create = `CREATE TABLE ${fullName(staged)} AS ${fullName(table)} ENGINE = Memory`
  await client.query(create, { settings: definitionSettings(capabilities), signal })
  await sendRows(parts, insertText(staged, insert), { insert }, signal)
  return traits
}

/** Types whose values need not look the same in every part of a table. */
const changeable = /JSON|Object|Dynamic|Variant|AggregateFunction|QBit|Map/

function traitsOf(
  insert: Insert,
  { sorting_key: key, engine_full: engine }: FoundTable,
  columns: FoundColumn[],
): Traits | undefined {
  const filled = new Set(insert.columns.map(({ column }) => column))
  // In place of a NULL the engine puts what it makes up each time.
  const isKnown = ({ name, type, default_kind: kind }: FoundColumn): boolean =>
    filled.has(name) && kind === '' && !changeable.test(type)
  const isSearched = key !== '' && columns.filter((column) => column.is_in_sorting_key === 1).every(isKnown)
  if (!engine.startsWith('Replacing')) {
    const wanted = insert.identity === 'none' ? [] : (insert.identity ?? [...filled])
    const names = columns.filter((column) => isKnown(column) && wanted.includes(column.name)).map(({ name }) => name)
    if (names.length === 0 || [...filled].some((name) => !columns.some((column) => column.name === name)))
      return undefined
    const row = `cityHash64(tuple(${listOf(names)}))`
    return { row, rowOfStaged: row, groupBy: '', key: isSearched ? key : '' }
  }
  // Of rows with the same key, an insert leaves one. Without versions nobody knows which, nor whether another came after it.
  const [, version] = /^ReplacingMergeTree\(`?(\w+)`?[,)]/.exec(engine) ?? []
  if (version === undefined || !isSearched || !columns.some((column) => column.name === version && isKnown(column)))
    return undefined
  const rowOf = (versionText: string): string => `cityHash64(tuple(${key}, ${versionText}))`
  return { row: rowOf(quoteName(version)), rowOfStaged: rowOf(`max(${quoteName(version)})`), groupBy: key, key }
}

/** They would hide rows, and say nothing of it. Who may not see them most likely has none. */
async function hasPolicies({ client, table }: SinkParts, signal: AbortSignal): Promise<boolean> {
  const tables = `'', ${quoteText(table.table)}`
  const text =
    'SELECT count() AS policies FROM system.row_policies ' +
    `WHERE database = ${quoteText(table.database)} AND table IN (${tables}) FORMAT JSONEachRow`
  const [found] = parseRows<{ policies: string | number }>(
    await client.query(text, { signal }).catch((error: unknown) => {
      if (error instanceof EngineError && error.kind === 'user') return ''
      throw error
    }),
  )
  return Number(found?.policies ?? 0) > 0
}

function partitionText(partitionKey: string): string {
  return partitionKey === '' ? "''" : `toString(tuple(${partitionKey}))`
}

/** As no column of a user is called. */
interface Sample {
  _penstock_place: string
  _penstock_row: string
}

/** The partitions that have none of the rows. */
async function findMissing(
  parts: SinkParts,
  { row, rowOfStaged, groupBy, key }: Traits,
  staged: TablePlace,
  signal: AbortSignal,
): Promise<string[]> {
  const { client, table, partitionKey } = parts
  const read = async <Row>(text: string): Promise<Row[]> => {
    const options = { settings: lookSettings(parts), signal, timeoutMs: 2 * readTimeoutMs }
    return parseRows<Row>(await client.query(`${text} FORMAT JSONEachRow`, options))
  }
  const place = partitionText(partitionKey)
  const samples = await read<Sample>(
    `SELECT ${place} AS _penstock_place, toString(${rowOfStaged}) AS _penstock_row FROM ${fullName(staged)} ` +
      (groupBy === '' ? '' : `GROUP BY ${place}, ${groupBy} `) +
      // By their hashes: rows that come first may be alike, such as those that a source begins with each time.
      `ORDER BY ${rowOfStaged} LIMIT ${sampledRows} BY _penstock_place LIMIT ${mostSamples}`,
  )
  if (samples.length === 0) throw forgotten(client)
  const wanted = [...new Set(samples.map((sample) => sample._penstock_row))].join(', ')
  const among = `${row} IN (${wanted})`
  const within = key === '' ? '' : `(${key}) IN (SELECT ${key} FROM ${fullName(staged)} WHERE ${among}) AND `
  const there = await read<Pick<Sample, '_penstock_row'>>(
    `SELECT DISTINCT toString(${row}) AS _penstock_row FROM ${fullName(table)} WHERE ${within}${among}`,
  )
  const found = new Set(there.map((one) => one._penstock_row))
  const byPlace = Map.groupBy(samples, (sample) => sample._penstock_place)
  return [...byPlace].filter(([, some]) => !isThere(some, found)).map(([name]) => name)
}

/** Some rows may be like others that were there before, and some may be gone already, by a TTL. */
function isThere(samples: Sample[], found: ReadonlySet<string>): boolean {
  return 2 * samples.filter((sample) => found.has(sample._penstock_row)).length >= samples.length
}

/** An answer is whole and of now, or an error; whatever the profile of the user says. */
function lookSettings({ capabilities: { hasSetting } }: SinkParts): Record<string, string | number> {
  const settings = {
    final: 0,
    transform_null_in: 1,
    use_query_cache: 0,
    max_rows_to_read: mostReadRows,
    max_bytes_to_read: mostReadBytes,
    max_execution_time: readTimeoutMs / 1_000,
    ...Object.fromEntries(
      ['read', 'timeout', 'set', 'distinct', 'result', 'group_by', 'sort'].map((what) => [
        `${what}_overflow_mode`,
        'throw',
      ]),
    ),
  }
  return Object.fromEntries(Object.entries(settings).filter(([name]) => hasSetting(name)))
}
