// Where the rows of a worker go: a table of an engine, made ready, into which each batch goes exactly once by the best means that
// the engine and the table have.
import { randomBytes } from 'node:crypto'
import type { Egress } from '../lib/egress.ts'
import { loadCapabilities } from './capabilities.ts'
import { type EngineAccess, placeOf } from './check.ts'
import { openEngineClient } from './client.ts'
import { type Dropper, makeDropper } from './dropper.ts'
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
import { checkTable, dropTable, listLeft, type SinkOwner, type TableRef } from './side-tables.ts'
import { insertStaged, type SinkParts } from './staged-insert.ts'
import { makeTableReady, type ReadyTable } from './tables.ts'
import { insertByToken } from './token-insert.ts'
import { tryOut } from './try-out.ts'
import { findBlindness } from './under-way.ts'

/** Makes the table ready. Rejects with an EngineError. */
export async function openSink(
  egress: Egress,
  access: EngineAccess,
  table: EngineTable,
  place: SinkOwner,
  { signal }: { signal: AbortSignal },
): Promise<OpenedSink> {
  const client = openEngineClient(egress, access)
  try {
    const capabilities = await loadCapabilities(client, signal)
    const ready = await makeTableReady(client, capabilities, table, signal)
    const dropper = makeDropper(client, capabilities)
    const blindness = isMarked(ready) ? await findBlindness({ client, place }, signal) : undefined
    const isBlind = blindness !== undefined
    const parts = partsOf({ client, capabilities, place, isBlind, drop: dropper.drop }, ready)
    const insert = await chooseInsert(parts, ready, signal)
    for (const left of await listLeft(client, parts.table, place, signal)) {
      await dropTable(client, capabilities, left, { signal })
    }
    const errorsFor = { ...parts.table, table: table.errorsFor ?? table.table }
    const delivery = deliveryWith(ready.delivery, blindness)
    return { ...sinkOf(parts, { errorsFor, insert, delivery, dropper }), isTableNew: ready.isNew }
  } catch (error) {
    client.close()
    throw error
  }
}

function partsOf(
  opened: Pick<SinkParts, 'client' | 'capabilities' | 'place' | 'isBlind' | 'drop'>,
  { database, table, columns, partitionKey, areTokensFirst }: ReadyTable,
): SinkParts {
  return {
    ...opened,
    table: { database, table },
    types: new Map(columns.map(({ name, type }) => [name, type])),
    partitionKey,
    areTokensFirst,
    ways: new Map(),
    twin: checkTable({ database, table }, opened.place, randomBytes(6).toString('hex')),
  }
}

interface SinkMeans {
  insert: InsertBy
  delivery: Delivery
  dropper: Dropper
  /** Beside which refused rows are kept. */
  errorsFor: TableRef
}

function sinkOf(parts: SinkParts, { insert, delivery, dropper, errorsFor }: SinkMeans): Sink {
  const { client, capabilities, place } = parts
  const keeper = makeBadRowKeeper(client, capabilities, errorsFor)
  let hasTwin = false
  return {
    delivery,
    async insert(rows, signal) {
      checkFormat(parts, rows)
      return await insert(parts, rows, signal)
    },
    async tryOut(rows, signal) {
      checkFormat(parts, rows)
      hasTwin = true
      return await tryOut(parts, rows, signal)
    },
    openReadCheck: (rows, numberField, signal) => openReadCheck(parts, rows, numberField, signal),
    keepBadRows: (rows, signal) => keeper.keep(place.pipeId, rows, signal),
    async close() {
      if (hasTwin) parts.drop(parts.twin)
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

function deliveryWith(delivery: Delivery, blindness: string | undefined): Delivery {
  if (blindness === undefined || delivery.delivery === 'at_least_once') return delivery
  return { delivery: 'at_least_once', reason: blindness }
}

function checkFormat({ client, capabilities }: SinkParts, { format }: Insert): void {
  if (capabilities.hasFormat(format)) return
  throw new EngineError(
    'user',
    `the engine at ${placeOf(client.access)} does not read ${format}; use an engine that does, or another format`,
  )
}
