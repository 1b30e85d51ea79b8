// Table operations for replication: available types, current columns, truncation at the source, and swapping a reloaded table in.
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

/** Newer types that the engine has. */
export interface TypeAbilities {
  hasBool: boolean
  hasDate32: boolean
  hasDateTime64: boolean
  mostDecimalDigits: number
}

export interface Tombstones {
  /** Columns that identify a row; the others get their defaults. */
  keyColumns: string[]
  versionColumn: string
  deletedColumn: string
  /** Rows with an older version are marked deleted with this one. */
  version: bigint
}

/** All methods reject with an EngineError. */
export interface ReplicaTables {
  readonly abilities: TypeAbilities
  openSink(table: EngineTable, signal: AbortSignal): Promise<Sink>
  /** Empty when the table does not exist. */
  listColumns(table: TableRef, signal: AbortSignal): Promise<EngineColumn[]>
  hasRows(table: TableRef, signal: AbortSignal): Promise<boolean>
  /** Creates an empty table with the columns, keys and settings of `other`. */
  createLike(table: TableRef, other: TableRef, signal: AbortSignal): Promise<void>
  /** Marks all older rows of a ReplacingMergeTree as deleted; idempotent. */
  markOlderDeleted(table: TableRef, tombstones: Tombstones, signal: AbortSignal): Promise<void>
  /** Renames `shadow` to `table` and drops the previous `table`; idempotent. */
  swap(tables: { table: TableRef; shadow: TableRef }, signal: AbortSignal): Promise<void>
  drop(table: TableRef, signal: AbortSignal): Promise<void>
  /** Statement for the user, to keep the values of a renamed column. */
  renameStatement(table: TableRef, before: string, now: EngineColumn): string
  /** Closes all open sinks too. */
  close(): Promise<void>
}

/** Rejects with an EngineError. */
export async function openReplicaTables(
  egress: Egress,
  access: EngineAccess,
  owner: SinkOwner,
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
        const sink = await openSink(egress, access, table, owner, { signal: opening })
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
      async markOlderDeleted(table, tombstones, marking) {
        await client.query(markDeletedText(table, tombstones), { signal: marking, timeoutMs: markDeletedTimeoutMs })
      },
      async swap({ table, shadow }, swapping) {
        const old = { ...shadow, table: `${shadow.table}_old` }
        // After the rename, `shadow` does not exist.
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

/** The statement reads the whole table. */
const markDeletedTimeoutMs = 3_600_000

function markDeletedText(table: TableRef, { keyColumns, versionColumn, deletedColumn, version }: Tombstones): string {
  const [name, versionName, deletedName] = [fullName(table), quoteName(versionColumn), quoteName(deletedColumn)]
  return (
    `INSERT INTO ${name} (${listOf([...keyColumns, versionColumn, deletedColumn])}) ` +
    `SELECT ${listOf(keyColumns)}, toUInt64(${quoteText(String(version))}), toUInt8(1) FROM ${name} FINAL ` +
    `WHERE ${deletedName} = 0 AND ${versionName} < toUInt64(${quoteText(String(version))})`
  )
}

function lostShadow(shadow: TableRef): EngineError {
  return new EngineError('user', `the engine has neither ${fullName(shadow)} nor the table that it replaces`)
}
