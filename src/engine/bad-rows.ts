// Reads the rejected rows of a table, to show or replay them. Replayed rows are left out.
import type { Egress } from '../lib/egress.ts'
import type { EngineAccess } from './check.ts'
import { type EngineClient, openEngineClient } from './client.ts'
import type { BadRow, ShownBadRow } from './engine.ts'
import { keptColumns } from './keep-bad-rows.ts'
import { quoteText } from './names.ts'
import { errorsTable, fullName, parseRows, type TableRef } from './side-tables.ts'

/** All reject with an EngineError. A table without rejected rows so far has no bad rows. */
export interface BadRows {
  /** The newest first. */
  list(pipeId: string, options: { limit: number }): Promise<ShownBadRow[]>
  /**
   * The oldest first, or those after `after`, with all their bytes. At most `limit`, fewer when they are large, but at least one if
   * there is one.
   */
  load(pipeId: string, options: { limit: number; after?: Pick<BadRow, 'at' | 'id'> }): Promise<BadRow[]>
  count(pipeId: string): Promise<number>
  /** By the day (UTC) of their rejection, such as `2026-11-18`. */
  countByDay(pipeId: string): Promise<Record<string, number>>
  markReplayed(pipeId: string, ids: string[]): Promise<void>
  /** Those of the ids that are marked as replayed; the others may still be rejected, or have expired. */
  listReplayed(pipeId: string, ids: string[]): Promise<string[]>
  close(): Promise<void>
}

export async function openBadRows(
  egress: Egress,
  access: EngineAccess,
  table: TableRef,
  { signal }: { signal?: AbortSignal } = {},
): Promise<BadRows> {
  const client = openEngineClient(egress, access)
  const errors = errorsTable(table)
  return {
    list: (pipeId, options) => listBadRows(client, errors, pipeId, options, signal),
    load: (pipeId, options) => loadBadRows(client, errors, pipeId, options, signal),
    count: (pipeId) => countBadRows(client, errors, pipeId, signal),
    countByDay: (pipeId) => countBadRowsByDay(client, errors, pipeId, signal),
    markReplayed: (pipeId, ids) => markReplayed(client, errors, pipeId, ids, signal),
    listReplayed: (pipeId, ids) => listReplayed(client, errors, pipeId, ids, signal),
    async close() {
      client.close()
    },
  }
}

/** Those of the tables that have a table of rejected rows. Rejects with an EngineError. */
export async function listTablesWithBadRows(
  egress: Egress,
  access: EngineAccess,
  { database, tables }: { database: string; tables: string[] },
  { signal }: { signal?: AbortSignal } = {},
): Promise<string[]> {
  const client = openEngineClient(egress, access)
  try {
    const found: string[] = []
    for (let from = 0; from < tables.length; from += maxNamesAtOnce) {
      const some = tables.slice(from, from + maxNamesAtOnce)
      const tableOf = new Map(some.map((table) => [errorsTable({ database, table }).table, table]))
      const answer = await client.query(
        `SELECT name FROM system.tables WHERE database = ${quoteText(database)} ` +
          `AND name IN (${[...tableOf.keys()].map(quoteText).join(', ')}) FORMAT JSONEachRow`,
        { signal },
      )
      const there = new Set(parseRows<{ name: string }>(answer).map(({ name }) => name))
      for (const [name, table] of tableOf) if (there.has(name)) found.push(table)
    }
    return found
  } finally {
    client.close()
  }
}

/** Keeps statements below the limits of ClickHouse. */
const maxNamesAtOnce = 200

type Stop = AbortSignal | undefined

interface Range {
  limit: number
  after?: Pick<BadRow, 'at' | 'id'>
}

const maxShownCharacters = 10_000
/** The bytes of that many characters in UTF-8. */
const maxShownBytes = 4 * maxShownCharacters
/** Keeps an answer below the client's limit even if each byte is escaped as six. */
const maxShownAtOnce = 40

interface ShownLine extends Omit<ShownBadRow, 'at' | 'raw' | 'isCut'> {
  beginning: string
  milliseconds: string | number
  sizeBytes: string | number
}

async function listBadRows(
  client: EngineClient,
  errors: TableRef,
  pipeId: string,
  { limit }: Pick<Range, 'limit'>,
  signal: Stop,
): Promise<ShownBadRow[]> {
  if (!(await exists(client, errors, signal))) return []
  const shown: ShownBadRow[] = []
  while (shown.length < limit) {
    const asked = Math.min(limit - shown.length, maxShownAtOnce)
    const answer = await client.query(
      'SELECT id, partition, position, reason, at_milliseconds AS milliseconds, length(raw) AS sizeBytes, ' +
        `substring(raw, 1, ${maxShownBytes}) AS beginning ${fromRejected(errors, pipeId)}` +
        `${beyond('<', shown.at(-1))} ORDER BY at_milliseconds DESC, id DESC LIMIT ${asked} FORMAT JSONEachRow`,
      { signal },
    )
    const lines = parseRows<ShownLine>(answer)
    shown.push(...lines.map(show))
    if (lines.length < asked) break
  }
  return shown
}

function show({ milliseconds, sizeBytes, beginning, ...line }: ShownLine): ShownBadRow {
  const characters = [...beginning.slice(0, 2 * maxShownCharacters)]
  const isCut = characters.length > maxShownCharacters || Number(sizeBytes) > maxShownBytes
  return { ...line, at: isoTime(milliseconds), raw: characters.slice(0, maxShownCharacters).join(''), isCut }
}

/** Bytes per answer, before hexadecimal encoding. */
const maxLoadedBytes = 2_097_152
/** Bytes of all rows of one call. */
const maxHeldBytes = 33_554_432

interface LoadedLine extends Omit<BadRow, 'at' | 'raw'> {
  milliseconds: string | number
  sizeBytes: string | number
}

async function loadBadRows(
  client: EngineClient,
  errors: TableRef,
  pipeId: string,
  { limit, after }: Range,
  signal: Stop,
): Promise<BadRow[]> {
  if (!(await exists(client, errors, signal))) return []
  const answer = await client.query(
    'SELECT id, partition, position, reason, meta, at_milliseconds AS milliseconds, length(raw) AS sizeBytes ' +
      `${fromRejected(errors, pipeId)}${beyond('>', after)} ORDER BY at_milliseconds, id LIMIT ${limit} FORMAT JSONEachRow`,
    { signal },
  )
  const lines = withinLimit(parseRows<LoadedLine>(answer))
  const raw = new Map<string, Buffer>()
  for (const group of groupsOf(lines)) {
    for (let from = 0; from === 0 || from < group.sizeBytes; from += maxLoadedBytes) {
      const pieces = await client.query(
        `SELECT id, hex(substring(raw, ${from + 1}, ${maxLoadedBytes})) AS digits ${fromRejected(errors, pipeId)} ` +
          `AND id IN (${group.ids.map(quoteText).join(', ')}) FORMAT JSONEachRow`,
        { signal },
      )
      for (const { id, digits } of parseRows<{ id: string; digits: string }>(pieces)) {
        const piece = Buffer.from(digits, 'hex')
        const before = raw.get(id)
        raw.set(id, before ? Buffer.concat([before, piece]) : piece)
      }
    }
  }
  return lines.flatMap(({ milliseconds, sizeBytes: _sizeBytes, ...line }) => {
    const bytes = raw.get(line.id)
    return bytes ? [{ ...line, at: isoTime(milliseconds), raw: bytes }] : []
  })
}

function withinLimit(lines: LoadedLine[]): LoadedLine[] {
  let heldBytes = 0
  const isHeld = ({ sizeBytes }: LoadedLine): boolean => {
    heldBytes += Number(sizeBytes)
    return heldBytes <= maxHeldBytes
  }
  const end = lines.findIndex((line) => !isHeld(line))
  return end === -1 ? lines : lines.slice(0, Math.max(1, end))
}

/** Groups that each fit into one answer; a larger row is a group of its own, loaded in pieces. */
function groupsOf(lines: LoadedLine[]): { ids: string[]; sizeBytes: number }[] {
  const groups: { ids: string[]; sizeBytes: number }[] = []
  for (const { id, sizeBytes } of lines) {
    const last = groups.at(-1)
    const isRoomy = last && last.ids.length < maxIdsAtOnce && last.sizeBytes + Number(sizeBytes) <= maxLoadedBytes
    if (isRoomy) {
      last.ids.push(id)
      last.sizeBytes += Number(sizeBytes)
    } else groups.push({ ids: [id], sizeBytes: Number(sizeBytes) })
  }
  return groups
}

async function countBadRows(client: EngineClient, errors: TableRef, pipeId: string, signal: Stop): Promise<number> {
  if (!(await exists(client, errors, signal))) return 0
  const text = `SELECT count() AS found ${fromRejected(errors, pipeId)} FORMAT JSONEachRow`
  return foundIn(await client.query(text, { signal }))
}

async function countBadRowsByDay(
  client: EngineClient,
  errors: TableRef,
  pipeId: string,
  signal: Stop,
): Promise<Record<string, number>> {
  if (!(await exists(client, errors, signal))) return {}
  const answer = await client.query(
    `SELECT intDiv(at_milliseconds, 86400000) AS day, count() AS found ${fromRejected(errors, pipeId)} ` +
      'GROUP BY day FORMAT JSONEachRow',
    { signal },
  )
  const counts = parseRows<{ day: string | number; found: string | number }>(answer)
  return Object.fromEntries(
    counts.map(({ day, found }) => [isoTime(Number(day) * 86_400_000).slice(0, 10), Number(found)]),
  )
}

const maxIdsAtOnce = 500

async function markReplayed(
  client: EngineClient,
  errors: TableRef,
  pipeId: string,
  ids: string[],
  signal: Stop,
): Promise<void> {
  const changed = keptColumns.replace('state, version', "'replayed', version + 1")
  for (let from = 0; from < ids.length; from += maxIdsAtOnce) {
    const some = ids.slice(from, from + maxIdsAtOnce)
    await client.query(
      `INSERT INTO ${fullName(errors)} (${keptColumns}) SELECT ${changed} ${fromRejected(errors, pipeId)} ` +
        `AND id IN (${some.map(quoteText).join(', ')})`,
      { signal },
    )
  }
}

async function listReplayed(
  client: EngineClient,
  errors: TableRef,
  pipeId: string,
  ids: string[],
  signal: Stop,
): Promise<string[]> {
  if (!(await exists(client, errors, signal))) return []
  const replayed: string[] = []
  for (let from = 0; from < ids.length; from += maxIdsAtOnce) {
    const some = ids.slice(from, from + maxIdsAtOnce)
    const answer = await client.query(
      `SELECT id ${fromState(errors, pipeId, 'replayed')} AND id IN (${some.map(quoteText).join(', ')}) FORMAT JSONEachRow`,
      { signal },
    )
    replayed.push(...parseRows<{ id: string }>(answer).map(({ id }) => id))
  }
  return replayed
}

function fromRejected(errors: TableRef, pipeId: string): string {
  return fromState(errors, pipeId, 'refused')
}

function fromState(errors: TableRef, pipeId: string, state: 'refused' | 'replayed'): string {
  return `FROM ${fullName(errors)} FINAL WHERE pipe_id = ${quoteText(pipeId)} AND state = '${state}'`
}

function beyond(sign: '<' | '>', row: Pick<BadRow, 'at' | 'id'> | undefined): string {
  return row ? ` AND (at_milliseconds, id) ${sign} (${Date.parse(row.at)}, ${quoteText(row.id)})` : ''
}

async function exists(client: EngineClient, { database, table }: TableRef, signal: Stop): Promise<boolean> {
  const text =
    `SELECT count() AS found FROM system.tables WHERE database = ${quoteText(database)} ` +
    `AND name = ${quoteText(table)} FORMAT JSONEachRow`
  return foundIn(await client.query(text, { signal })) > 0
}

function foundIn(answer: string): number {
  return parseRows<{ found: string | number }>(answer).reduce((sum, { found }) => sum + Number(found), 0)
}

function isoTime(milliseconds: string | number): string {
  return new Date(Number(milliseconds)).toISOString()
}
