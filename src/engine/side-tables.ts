// The tables that Penstock keeps beside a table of the user, and what they are called. A name tells whose it is, so that whoever
// comes later finds what somebody else has left.
import { createHash } from 'node:crypto'
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import { EngineError } from './engine.ts'
import { quoteName, quoteText } from './names.ts'

export interface TableRef {
  database: string
  table: string
}

/** Whose sink it is. An `epoch` is unique among all sinks there ever were of the pipe, and grows. */
export interface SinkOwner {
  pipeId: string
  slot: number
  epoch: number
}

/** As a statement names it. */
export function fullName({ database, table }: TableRef): string {
  return `${quoteName(database)}.${quoteName(table)}`
}

export function errorsTable({ database, table }: TableRef): TableRef {
  return { database, table: besideName(table, 'errors') }
}

export function fenceTable({ database, table }: TableRef): TableRef {
  return { database, table: besideName(table, 'fence') }
}

/** Of one sink, for as long as it is open; `mark` makes the name unlike that of another sink of the same place. */
export function checkTable({ database, table }: TableRef, { pipeId, slot, epoch }: SinkOwner, mark: string): TableRef {
  return { database, table: besideName(table, `${shortId(pipeId)}_${slot}_${epoch}_check_${mark}`) }
}

export type StagingPurpose = 'rows' | 'typed' | 'view' | 'numbers'

/** Of one attempt at one delivery; `attempt` makes the name unlike that of every other attempt. */
export function stagingTable(
  { database, table }: TableRef,
  { pipeId, slot, epoch }: SinkOwner,
  { token, attempt, purpose }: { token: string; attempt: string; purpose: StagingPurpose },
): TableRef {
  const name = `${shortId(pipeId)}_${slot}_${epoch}_${tokenMark(token)}_${attempt}_${purpose}`
  return { database, table: besideName(table, name) }
}

/** What anybody has staged for a delivery; in the order in which it is to be dropped. */
export async function listStaged(
  client: EngineClient,
  table: TableRef,
  { pipeId, token }: { pipeId: string; token: string },
  signal: AbortSignal,
): Promise<TableRef[]> {
  const mark = tokenMark(token)
  const places = await listOfPipe(client, table, pipeId, signal)
  return places.filter(({ parts }) => parts[2] === mark).map(({ place }) => place)
}

/** Longer than anything is staged. */
const forgottenAfterSeconds = 3_600

/** What sinks have left that had this place before, or that ended without closing, also in a slot that is no more. */
export async function listLeft(
  client: EngineClient,
  table: TableRef,
  { pipeId, slot, epoch }: SinkOwner,
  signal: AbortSignal,
): Promise<TableRef[]> {
  const places = await listOfPipe(client, table, pipeId, signal)
  // A check table is made again by whoever misses it; what another slot has staged may be on its way.
  const isLeft = (parts: string[]): boolean =>
    Number(parts[1]) < epoch && (Number(parts[0]) === slot || parts[2] === 'check')
  const isForgotten = (parts: string[], ageSeconds: number): boolean =>
    parts[2] !== 'check' && ageSeconds > forgottenAfterSeconds
  return places
    .filter(({ parts, ageSeconds }) => isLeft(parts) || isForgotten(parts, ageSeconds))
    .map(({ place }) => place)
}

/** By their names: what rows are sent into comes before the view that hands them on, so that none are sent into it without the view. */
async function listOfPipe(
  client: EngineClient,
  { database, table }: TableRef,
  pipeId: string,
  signal: AbortSignal,
): Promise<{ place: TableRef; parts: string[]; ageSeconds: number }[]> {
  const prefix = `${besideName(table, shortId(pipeId))}_`
  const answer = await queryTables(
    client,
    'SELECT name, toUnixTimestamp(metadata_modification_time) AS made, toUnixTimestamp(now()) AS asked ' +
      `FROM system.tables WHERE database = ${quoteText(database)} ` +
      `AND startsWith(name, ${quoteText(prefix)}) ORDER BY name FORMAT JSONEachRow`,
    signal,
  )
  return parseRows<{ name: string; made: number; asked: number }>(answer).map(({ name, made, asked }) => ({
    place: { database, table: name },
    parts: name.slice(prefix.length).split('_'),
    // An engine that does not know it says 1970.
    ageSeconds: made === 0 ? 0 : asked - made,
  }))
}

const mostQuestions = 10

/** Of `system.tables`. While a table is dropped, engines of before may answer that it does not exist, and nothing else. */
export async function queryTables(
  client: EngineClient,
  text: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  for (let question = 1; ; question++) {
    try {
      return await client.query(text, { signal })
    } catch (error) {
      const isGone = error instanceof EngineError && /^Code: 60\b/.test(error.detail)
      if (!isGone || question === mostQuestions) throw error
    }
  }
}

/** Some engines wait until nothing reads from the table or writes into it any more; that cannot be relied on. */
export async function dropTable(
  client: EngineClient,
  capabilities: Capabilities,
  place: TableRef,
  options: { signal?: AbortSignal; timeoutMs?: number },
): Promise<void> {
  await client.query(`DROP TABLE IF EXISTS ${fullName(place)}${capabilities.canDropSync ? ' SYNC' : ''}`, options)
}

/** Of an answer in the format JSONEachRow. */
export function parseRows<Row>(answer: string): Row[] {
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

/** A name in a folder has at most 255 bytes, and the engine writes three for one that is not a letter or a digit. */
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

/** Tells the batch from every other of any pipe. */
export function batchMark({ pipeId }: SinkOwner, token: string): string {
  return `${shortId(pipeId)}_${tokenMark(token)}`
}

function tokenMark(token: string): string {
  return digest(token).slice(0, 16)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
