// Opens the sink of a worker: prepares the table, and chooses the insert method with the best delivery guarantee.
import { randomBytes } from 'node:crypto'
import type { Egress } from '../lib/egress.ts'
import { loadCapabilities } from './capabilities.ts'
import { addressText, type EngineAccess } from './check.ts'
import { openEngineClient } from './client.ts'
import { type Dropper, makeDropper } from './drop-tables.ts'
import {
  type Delivery,
  EngineError,
  type EngineTable,
  type Insert,
  type InsertOutcome,
  type OpenedSink,
  type Sink,
} from './engine.ts'
import { makeFence } from './fence.ts'
import { makeBadRowKeeper } from './keep-bad-rows.ts'
import { insertMarked } from './marked-insert.ts'
import { openReadCheck } from './read-check.ts'
import { findMissingGrant } from './running-queries.ts'
import { checkTable, dropTable, listLeft, type SinkOwner, type TableRef } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { insertStaged } from './staged-insert.ts'
import { makeTableReady, type ReadyTable } from './tables.ts'
import { insertByToken } from './token-insert.ts'
import { tryOut } from './try-out.ts'

/** Prepares the table. Rejects with an EngineError. */
export async function openSink(
  egress: Egress,
  access: EngineAccess,
  table: EngineTable,
  owner: SinkOwner,
  { signal }: { signal: AbortSignal },
): Promise<OpenedSink> {
  const client = openEngineClient(egress, access)
  try {
    const capabilities = await loadCapabilities(client, signal)
    const ready = await makeTableReady(client, capabilities, table, signal)
    const dropper = makeDropper(client, capabilities)
    const missingGrant = isMarked(ready) ? await findMissingGrant({ client, owner }, signal) : undefined
    const cannotListQueries = missingGrant !== undefined
    const parts = partsOf({ client, capabilities, owner, cannotListQueries, drop: dropper.drop }, ready)
    const insert = await chooseInsert(parts, ready, signal)
    for (const left of await listLeft(client, parts.table, owner, signal)) {
      await dropTable(client, capabilities, left, { signal })
    }
    const errorsFor = { ...parts.table, table: table.errorsFor ?? table.table }
    const delivery = deliveryWith(ready.delivery, missingGrant)
    return { ...sinkOf(parts, { errorsFor, insert, delivery, dropper }), isTableNew: ready.isNew }
  } catch (error) {
    client.close()
    throw error
  }
}

function partsOf(
  opened: Pick<SinkParts, 'client' | 'capabilities' | 'owner' | 'cannotListQueries' | 'drop'>,
  { database, table, columns, partitionKey, areTokensFirst }: ReadyTable,
): SinkParts {
  return {
    ...opened,
    table: { database, table },
    types: new Map(columns.map(({ name, type }) => [name, type])),
    partitionKey,
    areTokensFirst,
    insertPaths: new Map(),
    tryOutTable: checkTable({ database, table }, opened.owner, randomBytes(6).toString('hex')),
  }
}

interface SinkMeans {
  insert: InsertBy
  delivery: Delivery
  dropper: Dropper
  /** Table beside which rejected rows are stored. */
  errorsFor: TableRef
}

function sinkOf(parts: SinkParts, { insert, delivery, dropper, errorsFor }: SinkMeans): Sink {
  const { client, capabilities, owner } = parts
  const keeper = makeBadRowKeeper(client, capabilities, errorsFor)
  let hasTryOutTable = false
  return {
    delivery,
    async insert(rows, signal) {
      checkFormat(parts, rows)
      return await insert(parts, rows, signal)
    },
    async tryOut(rows, signal) {
      checkFormat(parts, rows)
      hasTryOutTable = true
      return await tryOut(parts, rows, signal)
    },
    openReadCheck: (rows, numberField, signal) => openReadCheck(parts, rows, numberField, signal),
    keepBadRows: (rows, signal) => keeper.keep(owner.pipeId, rows, signal),
    async close() {
      if (hasTryOutTable) parts.drop(parts.tryOutTable)
      await dropper.finish()
      client.close()
    },
  }
}

type InsertBy = (parts: SinkParts, insert: Insert, signal: AbortSignal) => Promise<InsertOutcome>

async function chooseInsert(parts: SinkParts, ready: ReadyTable, signal: AbortSignal): Promise<InsertBy> {
  if (isMarked(ready)) {
    await makeFence(parts, signal)
    return insertMarked
  }
  return parts.capabilities.canInput ? insertByToken : insertStaged
}

function isMarked({ keepsTokens, hasMarker }: ReadyTable): boolean {
  return !keepsTokens && hasMarker
}

function deliveryWith(delivery: Delivery, missingGrant: string | undefined): Delivery {
  if (missingGrant === undefined || delivery.delivery === 'at_least_once') return delivery
  return { delivery: 'at_least_once', reason: missingGrant }
}

function checkFormat({ client, capabilities }: SinkParts, { format }: Insert): void {
  if (capabilities.hasFormat(format)) return
  throw new EngineError(
    'user',
    `the engine at ${addressText(client.access)} does not read ${format}; use an engine that does, or another format`,
  )
}
