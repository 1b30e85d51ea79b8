// Tables that Penstock creates beside a user's table. Their names contain their owner, so that a later worker finds tables that were
// left.
import { createHash } from 'node:crypto'
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import { EngineError } from './engine.ts'
import { quoteName, quoteText } from './names.ts'

export interface TableRef {
  database: string
  table: string
}

/** Worker that a sink belongs to. An `epoch` is unique among all sinks of the pipe, and grows. */
export interface SinkOwner {
  pipeId: string
  workerIndex: number
  epoch: number
}

/** Quoted name for statements. */
export function fullName({ database, table }: TableRef): string {
  return `${quoteName(database)}.${quoteName(table)}`
}

export function errorsTable({ database, table }: TableRef): TableRef {
  return { database, table: besideName(table, 'errors') }
}

export function fenceTable({ database, table }: TableRef): TableRef {
  return { database, table: besideName(table, 'fence') }
}

/** Check table of one open sink; `mark` makes its name unique among sinks of the same owner. */
export function checkTable(
  { database, table }: TableRef,
  { pipeId, workerIndex, epoch }: SinkOwner,
  mark: string,
): TableRef {
  return { database, table: besideName(table, `${shortId(pipeId)}_${workerIndex}_${epoch}_check_${mark}`) }
}

export type StagingPurpose = 'rows' | 'typed' | 'view' | 'numbers'

/** Staging table of one attempt to insert a batch; `attempt` makes its name unique. */
export function stagingTable(
  { database, table }: TableRef,
  { pipeId, workerIndex, epoch }: SinkOwner,
  { token, attempt, purpose }: { token: string; attempt: string; purpose: StagingPurpose },
): TableRef {
  const name = `${shortId(pipeId)}_${workerIndex}_${epoch}_${tokenMark(token)}_${attempt}_${purpose}`
  return { database, table: besideName(table, name) }
}

/** Staging tables of any worker for a batch, in the order in which they must be dropped. */
export async function listStaged(
  client: EngineClient,
  table: TableRef,
  { pipeId, token }: { pipeId: string; token: string },
  signal: AbortSignal,
): Promise<TableRef[]> {
  const mark = tokenMark(token)
  const found = await listOfPipe(client, table, pipeId, signal)
  return found.filter(({ parts }) => parts[2] === mark).map(({ ref }) => ref)
}

/** Longer than any table is staged. */
const forgottenAfterSeconds = 3_600

/** Tables left by sinks with earlier epochs: of the same worker index, check tables of any, and old staging tables of any. */
export async function listLeft(
  client: EngineClient,
  table: TableRef,
  { pipeId, workerIndex, epoch }: SinkOwner,
  signal: AbortSignal,
): Promise<TableRef[]> {
  const found = await listOfPipe(client, table, pipeId, signal)
  // Check tables are recreated when missing; staging tables of another worker may be in use.
  const isLeft = (parts: string[]): boolean =>
    Number(parts[1]) < epoch && (Number(parts[0]) === workerIndex || parts[2] === 'check')
  const isForgotten = (parts: string[], ageSeconds: number): boolean =>
    parts[2] !== 'check' && ageSeconds > forgottenAfterSeconds
  return found.filter(({ parts, ageSeconds }) => isLeft(parts) || isForgotten(parts, ageSeconds)).map(({ ref }) => ref)
}

/** Ordered by name: `_rows` comes before the view that reads from it, so that no rows are sent without the view. */
async function listOfPipe(
  client: EngineClient,
  { database, table }: TableRef,
  pipeId: string,
  signal: AbortSignal,
): Promise<{ ref: TableRef; parts: string[]; ageSeconds: number }[]> {
  const prefix = `${besideName(table, shortId(pipeId))}_`
  const answer = await queryTables(
    client,
    'SELECT name, toUnixTimestamp(metadata_modification_time) AS made, toUnixTimestamp(now()) AS asked ' +
      `FROM system.tables WHERE database = ${quoteText(database)} ` +
      `AND startsWith(name, ${quoteText(prefix)}) ORDER BY name FORMAT JSONEachRow`,
    signal,
  )
  return parseRows<{ name: string; made: number; asked: number }>(answer).map(({ name, made, asked }) => ({
    ref: { database, table: name },
    parts: name.slice(prefix.length).split('_'),
    // ClickHouse without the value returns 1970.
    ageSeconds: made === 0 ? 0 : asked - made,
  }))
}

const maxAttempts = 10

/**
 * Queries `system.tables` or `system.columns`. ClickHouse older than 23.3 may fail with UNKNOWN_TABLE while any table is being
 * dropped.
 */
export async function queryTables(
  client: EngineClient,
  text: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.query(text, { signal })
    } catch (error) {
      const isGone = error instanceof EngineError && /^Code: 60\b/.test(error.detail)
      if (!isGone || attempt === maxAttempts) throw error
    }
  }
}

/** Not all versions wait until no query uses the table. */
export async function dropTable(
  client: EngineClient,
  capabilities: Capabilities,
  table: TableRef,
  options: { signal?: AbortSignal; timeoutMs?: number },
): Promise<void> {
  await client.query(`DROP TABLE IF EXISTS ${fullName(table)}${capabilities.canDropSync ? ' SYNC' : ''}`, options)
}

/** Parses an answer in the format JSONEachRow. */
export function parseRows<Row>(answer: string): Row[] {
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

/** A file name has at most 255 bytes; ClickHouse escapes each byte that is not a letter or digit as three. */
const maxNameBytes = 120

function besideName(table: string, rest: string): string {
  const sizeBytes = [...Buffer.from(table)].reduce((sum, byte) => sum + (isPlain(byte) ? 1 : 3), 0)
  if (sizeBytes <= maxNameBytes) return `${table}_penstock_${rest}`
  const start = table.replaceAll(/\W/g, '').slice(0, 40)
  return `${start}_${digest(table).slice(0, 16)}_penstock_${rest}`
}

function isPlain(byte: number): boolean {
  return /\w/.test(String.fromCharCode(byte))
}

function shortId(pipeId: string): string {
  return pipeId.replaceAll('-', '').slice(0, 12)
}

/** Identifies the batch among all batches of all pipes. */
export function batchMark({ pipeId }: SinkOwner, token: string): string {
  return `${shortId(pipeId)}_${tokenMark(token)}`
}

function tokenMark(token: string): string {
  return digest(token).slice(0, 16)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
