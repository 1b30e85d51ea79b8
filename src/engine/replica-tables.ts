// What replication asks of an engine beside inserts: which types it has, what a table looks like now, rows that were truncated at
// the source, and a table that takes the place of another.
import type { Egress } from '../lib/egress.ts'
import { loadCapabilities } from './capabilities.ts'
import type { EngineAccess } from './check.ts'
import { openEngineClient } from './client.ts'
import { type EngineColumn, EngineError, type EngineTable, type Sink } from './engine.ts'
import { listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import {
  dropTable,
  fenceTable,
  fullName,
  parseRows,
  queryTables,
  type SinkOwner,
  type TableRef,
} from './side-tables.ts'
import { openSink } from './sink.ts'
import { addColumnStatement, listColumnsStatement } from './table-statements.ts'

/** Which of the newer types it knows. */
export interface TypeAbilities {
  hasBool: boolean
  hasDate32: boolean
  hasDateTime64: boolean
  mostDecimalDigits: number
}

export interface Tombstones {
  /** By which rows are told apart; the others get their defaults. */
  keyColumns: string[]
  versionColumn: string
  deletedColumn: string
  /** Rows that are older are deleted at this version. */
  version: bigint
}

/** All methods reject with an EngineError. */
export interface ReplicaTables {
  readonly abilities: TypeAbilities
  openSink(table: EngineTable, signal: AbortSignal): Promise<Sink>
  /** Empty when there is no such table. */
  listColumns(place: TableRef, signal: AbortSignal): Promise<EngineColumn[]>
  hasRows(place: TableRef, signal: AbortSignal): Promise<boolean>
  /** With the columns, keys and settings of the other one, and none of its rows. */
  createLike(place: TableRef, other: TableRef, signal: AbortSignal): Promise<void>
  /** Marks every row of a ReplacingMergeTree as deleted that is older; again changes nothing. */
  bury(place: TableRef, tombstones: Tombstones, signal: AbortSignal): Promise<void>
  /** `shadow` is called `table` from now on; what was called so is dropped. Again, when that has been done, changes nothing. */
  swap(places: { table: TableRef; shadow: TableRef }, signal: AbortSignal): Promise<void>
  drop(place: TableRef, signal: AbortSignal): Promise<void>
  /** For the user to run, so that what was in a column goes on under another name. */
  renameStatement(place: TableRef, before: string, now: EngineColumn): string
  /** With all sinks that are open. */
  close(): Promise<void>
}

/** Rejects with an EngineError. */
export async function openReplicaTables(
  egress: Egress,
  access: EngineAccess,
  place: SinkOwner,
  { signal }: { signal: AbortSignal },
): Promise<ReplicaTables> {
  const client = openEngineClient(egress, access)
  try {
    const capabilities = await loadCapabilities(client, signal)
    const types = new Set(
      (await client.query('SELECT name FROM system.data_type_families FORMAT TabSeparated', { signal })).split('\n'),
    )
    const sinks = new Set<Sink>()
    const listColumns = async (table: TableRef, asking: AbortSignal): Promise<EngineColumn[]> =>
      parseRows<EngineColumn>(await queryTables(client, listColumnsStatement(table), asking))
    return {
      abilities: {
        hasBool: types.has('Bool'),
        hasDate32: types.has('Date32'),
        hasDateTime64: types.has('DateTime64'),
        mostDecimalDigits: types.has('Decimal256') ? 76 : 38,
      },
      async openSink(table, opening) {
        const sink = await openSink(egress, access, table, place, { signal: opening })
        sinks.add(sink)
        return {
          ...sink,
          close() {
            sinks.delete(sink)
            return sink.close()
          },
        }
      },
      listColumns,
      async hasRows(table, asking) {
        const answer = await client.query(`SELECT 1 FROM ${fullName(table)} LIMIT 1 FORMAT TabSeparated`, {
          signal: asking,
        })
        return answer.trim() !== ''
      },
      async createLike(table, other, creating) {
        await client.query(`CREATE TABLE IF NOT EXISTS ${fullName(table)} AS ${fullName(other)}`, { signal: creating })
      },
      async bury(table, tombstones, burying) {
        await client.query(buryText(table, tombstones), { signal: burying, timeoutMs: buryTimeoutMs })
      },
      async swap({ table, shadow }, swapping) {
        const old = { ...shadow, table: `${shadow.table}_old` }
        // Once it has its new name, it is not there under the old one.
        if ((await listColumns(shadow, swapping)).length > 0) {
          const isFirst = (await listColumns(table, swapping)).length === 0
          const aside = isFirst ? '' : `${fullName(table)} TO ${fullName(old)}, `
          await dropTable(client, capabilities, old, { signal: swapping })
          await client.query(`RENAME TABLE ${aside}${fullName(shadow)} TO ${fullName(table)}`, { signal: swapping })
        } else if ((await listColumns(table, swapping)).length === 0) throw lostShadow(shadow)
        await dropTable(client, capabilities, old, { signal: swapping })
        await dropTable(client, capabilities, fenceTable(shadow), { signal: swapping })
      },
      drop: (table, dropping) => dropTable(client, capabilities, table, { signal: dropping }),
      renameStatement: (table, before, now) =>
        capabilities.canRenameColumn
          ? `ALTER TABLE ${fullName(table)} RENAME COLUMN ${quoteName(before)} TO ${quoteName(now.name)}`
          : addColumnStatement(table, now, { mayBeThere: false }),
      async close() {
        await Promise.all([...sinks].map((sink) => sink.close()))
        client.close()
      },
    }
  } catch (error) {
    client.close()
    throw error
  }
}

/** The table is read as a whole. */
const buryTimeoutMs = 3_600_000

function buryText(place: TableRef, { keyColumns, versionColumn, deletedColumn, version }: Tombstones): string {
  const [name, versionName, deletedName] = [fullName(place), quoteName(versionColumn), quoteName(deletedColumn)]
  return (
    `INSERT INTO ${name} (${listOf([...keyColumns, versionColumn, deletedColumn])}) ` +
    `SELECT ${listOf(keyColumns)}, toUInt64(${quoteText(String(version))}), toUInt8(1) FROM ${name} FINAL ` +
    `WHERE ${deletedName} = 0 AND ${versionName} < toUInt64(${quoteText(String(version))})`
  )
}

function lostShadow(shadow: TableRef): EngineError {
  return new EngineError('user', `the engine has neither ${fullName(shadow)} nor the table whose place it takes`)
}
