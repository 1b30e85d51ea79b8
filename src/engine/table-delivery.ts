// How sure it is that a table has every row once after a failure, and why not more. What the engine cannot tell apart is not
// promised.
import { createHash } from 'node:crypto'
import type { Delivery } from './engine.ts'
import { quoteName } from './names.ts'

export const markerColumn = '_penstock_batch'

/**
 * What the rows of a batch have in that column. Every row has it, and every merge copies it: the token itself, four times as long,
 * was a tenth of the engine's work. It need not tell all batches apart, only a repeated one from those that are there.
 */
export function markerOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url').slice(0, 12)
}

/** Enough for a day of one insert every ten seconds. */
export const tokenWindow = 10_000

export interface TableTraits {
  database: string
  table: string
  /** As the engine calls it: `ReplicatedReplacingMergeTree`. */
  engine: string
  /** With its parameters and settings. */
  engineFull: string
  hasMarker: boolean
  /** Whether the engine that has the table knows inserts by tokens. */
  hasTokens: boolean
  /** Of a MergeTree whose definition says nothing. */
  defaultTokenWindow: number | undefined
}

export function isMergeTree(engine: string): boolean {
  return engine.endsWith('MergeTree')
}

/** Those that have their tokens, or hashes of their blocks, in common with other servers. */
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
 * Whether a token may be there without its rows, and the table has rows as they came, by which that can be told: an engine writes the
 * token down first, unless both go to what replicas have in common, in one step.
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
        : `the table has the engine ${engine}, which cannot tell a repeated insert; use a table of the MergeTree family`,
    )
  }
  const kind = engine.replace(/^(?:Replicated|Shared)/, '')
  const hasVersion = /^\w+\([^)]*[`\w]/.test(engineFull)
  // Merges may leave no row of a batch, or no trace of it, so that the marker says nothing.
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
