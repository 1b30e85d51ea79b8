// Exactly once on engines that know inserts again by tokens. A MergeTree that is not replicated writes a token down before the rows
// that it stands for: an engine that dies in between, or cannot write on, takes the batch for one that it has. So a few rows of a
// repeated batch are looked for afterwards, and a partition that lacks its own gets them by another token. What must stay true:
// the first token is sent first, whatever is known, since from then on what is still on its way by it inserts nothing; and a batch
// that is there is never taken for one that is not: when in doubt, the token is believed.
import { randomBytes } from 'node:crypto'
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { insertText, listOf } from './insert-text.ts'
import { findMissing, loadTraits, type RowTraits } from './lost-rows.ts'
import { quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, stagingTable, type TableRef } from './side-tables.ts'
import { partitionText, type SinkParts } from './staged-insert.ts'
import { definitionSettings } from './table-statements.ts'

/** A second token may be written down without its rows, too. */
const mostTokens = 3

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

/** Undefined when nobody can tell whether rows are there. */
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
