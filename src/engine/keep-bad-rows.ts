// Stores rejected rows for 7 days in an error table beside the destination table. Raw bytes are unchanged. A row with the same id
// replaces the earlier one.
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import type { BadRow } from './engine.ts'
import { quoteText } from './names.ts'
import { errorsTable, fullName, parseRows, type TableRef } from './side-tables.ts'

export const keptColumns =
  'id, pipe_id, at, at_milliseconds, partition, position, reason, raw, meta, state, version' as const

const keptDays = 7
const pruneIntervalMs = 3_600_000

export interface BadRowKeeper {
  keep(pipeId: string, rows: BadRow[], signal: AbortSignal): Promise<void>
}

export function makeBadRowKeeper(client: EngineClient, capabilities: Capabilities, table: TableRef): BadRowKeeper {
  const errors = errorsTable(table)
  let prunedAtMs = Number.NEGATIVE_INFINITY
  let exists = false
  return {
    async keep(pipeId, rows, signal) {
      if (rows.length === 0) return
      if (!exists) await client.query(definitionOf(errors, capabilities), { signal })
      // Set again after a successful insert: the table may have been dropped.
      exists = false
      await client.send(`INSERT INTO ${fullName(errors)} (${keptColumns}) FORMAT TabSeparated`, linesOf(pipeId, rows), {
        settings: capabilities.hasSetting('async_insert') ? { async_insert: 0 } : {},
        signal,
      })
      exists = true
      if (capabilities.hasTtl || performance.now() - prunedAtMs < pruneIntervalMs) return
      prunedAtMs = performance.now()
      await prune(client, errors, signal)
    },
  }
}

function definitionOf(errors: TableRef, { hasTtl }: Capabilities): string {
  return (
    `CREATE TABLE IF NOT EXISTS ${fullName(errors)} (id String, pipe_id String, at DateTime, at_milliseconds UInt64, ` +
    'partition String, position String, reason String, raw String, meta String, state String, version UInt64) ' +
    'ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMMDD(at) ORDER BY (pipe_id, id)' +
    (hasTtl ? ` TTL at + INTERVAL ${keptDays} DAY` : '')
  )
}

function* linesOf(pipeId: string, rows: BadRow[]): Generator<Uint8Array> {
  for (const { id, at, partition, position, reason, raw, meta } of rows) {
    const atMs = Date.parse(at)
    const timestamps = [Math.floor(atMs / 1000), atMs].map(String)
    const values = [id, pipeId, ...timestamps, partition, position, reason, raw, meta, 'refused', '1']
    const fields = values.map((value) => escaped(typeof value === 'string' ? Buffer.from(value) : value))
    yield Buffer.concat(fields.flatMap((field, index) => [index === 0 ? nothing : tab, field]).concat(lineEnd))
  }
}

const [nothing, tab, lineEnd] = [Buffer.alloc(0), Buffer.from('\t'), Buffer.from('\n')]

/** Characters to escape in TabSeparated. */
const escapes = new Map(Object.entries({ '\\': '\\', '\t': 't', '\n': 'n', '\r': 'r', '\0': '0' }).map(codesOf))
const backslash = codeOf('\\')

function codesOf([character, letter]: [string, string]): [number, number] {
  return [codeOf(character), codeOf(letter)]
}

function codeOf(character: string): number {
  return character.charCodeAt(0)
}

function escaped(bytes: Uint8Array): Uint8Array {
  const output = Buffer.allocUnsafe(2 * bytes.length)
  let size = 0
  for (const byte of bytes) {
    const letter = byte > backslash ? undefined : escapes.get(byte)
    if (letter !== undefined) output[size++] = backslash
    output[size++] = letter ?? byte
  }
  return output.subarray(0, size)
}

/** For ClickHouse without TTL. */
async function prune(client: EngineClient, errors: TableRef, signal: AbortSignal): Promise<void> {
  const oldest = new Date(Date.now() - keptDays * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')
  const answer = await client.query(
    `SELECT DISTINCT partition FROM system.parts WHERE database = ${quoteText(errors.database)} ` +
      `AND table = ${quoteText(errors.table)} AND active = 1 FORMAT JSONEachRow`,
    { signal },
  )
  for (const { partition } of parseRows<{ partition: string }>(answer)) {
    if (!/^\d{8}$/.test(partition) || partition >= oldest) continue
    await client.query(`ALTER TABLE ${fullName(errors)} DROP PARTITION ${partition}`, { signal })
  }
}
