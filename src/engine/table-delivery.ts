// Delivery guarantee of a table after a failure, and the reason when it is not exactly once.
import { createHash } from 'node:crypto'
import type { Delivery } from './engine.ts'
import { quoteName } from './names.ts'

export const markerColumn = '_penstock_batch'
/** Of a copy of a table: 1 in the last version of a deleted row. */
export const deletedColumn = '_penstock_deleted'

/**
 * Value of the marker column for a batch. A short hash: every row stores it and every merge copies it, and the whole token cost a
 * tenth of ClickHouse's work. It only needs to distinguish a repeated batch from the stored ones.
 */
export function markerOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url').slice(0, 12)
}

/** Enough for a day of one insert every ten seconds. */
export const tokenWindow = 10_000

export interface TableTraits {
  database: string
  table: string
  /** Name of the table engine: `ReplicatedReplacingMergeTree`. */
  engine: string
  /** Table engine with parameters and settings. */
  engineFull: string
  hasMarker: boolean
  /** Whether ClickHouse has insert tokens. */
  hasTokens: boolean
  /** Deduplication window of a MergeTree that does not set one. */
  defaultTokenWindow: number | undefined
}

export function isMergeTree(engine: string): boolean {
  return engine.endsWith('MergeTree')
}

/** Table engines that share tokens or block hashes with other servers. */
export function isReplicated(engine: string): boolean {
  return /^(?:Replicated|Shared)/.test(engine)
}

export function keepsTokens({ engine, engineFull, hasTokens, defaultTokenWindow = 0 }: TableTraits): boolean {
  if (!hasTokens || !isMergeTree(engine)) return false
  const setting = isReplicated(engine)
    ? /\breplicated_deduplication_window = (\d+)/
    : /\bnon_replicated_deduplication_window = (\d+)/
  const [, window] = setting.exec(engineFull) ?? []
  if (window !== undefined) return Number(window) > 0
  return isReplicated(engine) || defaultTokenWindow > 0
}

/**
 * Whether a token may exist without its rows, and the table keeps rows unchanged, so that lost rows can be found. ClickHouse writes
 * the token first, except in replicated tables, where both are committed together.
 */
export function areTokensFirst(traits: TableTraits): boolean {
  return keepsTokens(traits) && /^(?:Replacing)?MergeTree$/.test(traits.engine)
}

export function deliveryOf(traits: TableTraits): Delivery {
  if (keepsTokens(traits)) return { delivery: 'exactly_once' }
  const { engine, engineFull, hasMarker, hasTokens, database, table } = traits
  const name = `${quoteName(database)}.${quoteName(table)}`
  if (!isMergeTree(engine)) {
    return atLeastOnce(
      engine === 'Null'
        ? 'the table has the engine Null, which keeps nothing: what reads from it may see rows of an insert that failed again'
        : `the table has the engine ${engine}, which cannot detect a repeated insert; use a table of the MergeTree family`,
    )
  }
  const kind = engine.replace(/^(?:Replicated|Shared)/, '')
  const hasVersion = /^\w+\([^)]*[`\w]/.test(engineFull)
  // Merges may remove all rows of a batch, or their markers.
  const isKept = kind === 'MergeTree' || (kind === 'ReplacingMergeTree' && hasVersion)
  if (hasMarker && isKept) return { delivery: 'exactly_once' }
  if (!hasTokens && !isKept) {
    return atLeastOnce(
      kind === 'ReplacingMergeTree'
        ? 'this version of the engine does not know inserts by tokens, and the table has no version column; give it one'
        : `this version of the engine does not know inserts by tokens, and a ${kind} joins rows; use a newer version, or a MergeTree`,
    )
  }
  const statement = hasTokens
    ? `ALTER TABLE ${name} MODIFY SETTING non_replicated_deduplication_window = ${tokenWindow}`
    : `ALTER TABLE ${name} ADD COLUMN ${markerColumn} String`
  return atLeastOnce(`the table keeps no trace of the inserts that it has; run ${statement} and start the pipe again`)
}

function atLeastOnce(reason: string): Delivery {
  return { delivery: 'at_least_once', reason }
}
