// Exactly once with insert tokens (`insert_deduplication_token`). A MergeTree that is not replicated stores a token before its rows: if
// ClickHouse dies in between, it deduplicates a batch that it does not have. So after a repeated batch, a few of its rows are searched,
// and a partition without them gets them with another token. Invariants: the first token is always sent first, since then a late attempt
// with it inserts nothing; and in case of doubt, the token is trusted, so that a batch is never inserted twice.
import { randomBytes } from 'node:crypto'
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { insertText, listOf } from './insert-text.ts'
import { findMissing, loadTraits, type RowTraits } from './lost-rows.ts'
import { quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, stagingTable, type TableRef } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { partitionText } from './staged-insert.ts'
import { definitionSettings } from './table-statements.ts'

/** A second token may be stored without its rows, too. */
const mostTokens = 3

/** Inserts with the token of the batch; without a deduplication window, the token has no effect. */
export async function insertByToken(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  const more = parts.capabilities.hasTokens ? { insert_deduplication_token: insert.token } : {}
  const { writtenRows, sentBytes } = await sendRows(parts, insertText(parts.table, insert), { insert, more }, signal)
  const mayBeMissing = insert.isRepeat && parts.areTokensFirst && insert.identity !== 'none'
  if (mayBeMissing && writtenRows !== undefined && writtenRows > 0) await insertLostRows(parts, insert, signal)
  return { rows: writtenRows, sentBytes }
}

async function insertLostRows(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<void> {
  const { client, capabilities, table, owner, partitionKey } = parts
  const attempt = randomBytes(6).toString('hex')
  const staged = stagingTable(table, owner, { token: insert.token, attempt, purpose: 'typed' })
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
      // One partition per statement: ClickHouse older than 23.3 numbers the blocks of a statement, and a token counts only with its
      // number.
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

/** Too little time or memory for the search may not pass: the search must not stop the pipe. */
const resourceLimits = /^Code: (?:159|160|241)\b/

/** Undefined when the rows cannot be searched, or their source cannot be read a second time: the token is trusted then. */
async function ifPossible<Result>(signal: AbortSignal, look: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await look()
  } catch (error) {
    const isAway = error instanceof EngineError && error.kind === 'passing' && !resourceLimits.test(error.detail)
    if (isAway || signal.aborted) throw error
    return undefined
  }
}

/** Undefined when lost rows cannot be detected. */
async function stage(
  parts: SinkParts,
  insert: Insert,
  staged: TableRef,
  signal: AbortSignal,
): Promise<RowTraits | undefined> {
  const { client, capabilities, table } = parts
  const traits = await loadTraits(parts, insert, signal)
  if (!traits) return undefined
  const create = `CREATE TABLE ${fullName(staged)} AS ${fullName(table)} ENGINE = Memory`
  await client.query(create, { settings: definitionSettings(capabilities), signal })
  await sendRows(parts, insertText(staged, insert), { insert }, signal)
  return traits
}
