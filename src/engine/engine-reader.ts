// Reads from the ClickHouse of a service for API callers: limited in time and number, with every failure as a Problem.
import type { Egress } from '../lib/egress.ts'
import { Problem } from '../lib/problem.ts'
import { availableType } from './available-type.ts'
import { listTablesWithBadRows, openBadRows } from './bad-rows.ts'
import type { EngineAccess } from './check.ts'
import {
  type FoundDestination,
  findDestination,
  loadTypeFamilies,
  type RequestedDestination,
} from './check-destination.ts'
import { type EngineClient, openEngineClient } from './client.ts'
import { EngineError, isEngineUnusable, type ShownBadRow } from './engine.ts'
import { listTableSizes, type NewestRows, readNewestRows, type TableSize } from './table-contents.ts'

export interface EngineRead {
  organizationId: string
  serviceId: string
  /** Of the service's endpoint. */
  url: string
  engine: EngineAccess
}

/** Whether the engine could be used for a read. */
export interface ReadOutcome extends Omit<EngineRead, 'engine'> {
  outcome: 'answered' | 'failed'
}

export interface BadRowsRequest extends EngineRead {
  database: string
  /** Those that the pipe fills. */
  tables: string[]
  pipeId: string
  limit: number
}

export interface TablesRequest extends EngineRead {
  limit: number
}

export interface NewestRowsRequest extends EngineRead {
  database: string
  /** Those whose sizes are returned. */
  tables: string[]
  /** The one whose rows are returned. */
  table: string
  limit: number
}
export interface DestinationRequest extends EngineRead, RequestedDestination {}

/** All reject with a Problem. */
export interface EngineReads {
  /** Rejected rows, newest first. */
  badRows(request: BadRowsRequest): Promise<ShownBadRow[]>
  /** The user's tables with their sizes, by name. */
  tables(request: TablesRequest): Promise<TableSize[]>
  /** Sizes of the tables that exist, and the newest rows of one of them. */
  newestRows(request: NewestRowsRequest): Promise<{ sizes: TableSize[]; newest: NewestRows }>
  destination(request: DestinationRequest): Promise<FoundDestination>
  /** Returns a function that maps a type to one that ClickHouse has; the identity when its types are unknown. */
  typeChoice(request: EngineRead): Promise<(type: string) => string>
}

const badRowsTimeoutMs = 10_000
/** People wait for the page that needs it. */
const contentsTimeoutMs = 5_000

/** An engine's answer may have many megabytes. */
const maxAtOnce = 8
/** Keeps the slow engines of one organization from blocking the others. */
const maxOfOrganization = 4

export class EngineReader {
  readonly #egress: Egress
  readonly #report: (outcome: ReadOutcome) => void
  /** The organization of each read in progress. */
  readonly #reading: string[] = []
  readonly #closing = new AbortController()

  constructor(egress: Egress, report: (outcome: ReadOutcome) => void) {
    this.#egress = egress
    this.#report = report
  }

  /** For one request; its reads end when `gone` is aborted. */
  readsFor(gone: AbortSignal | undefined): EngineReads {
    return {
      badRows: (request) =>
        this.#run(request, gone, badRowsTimeoutMs, (signal) => readBadRows(this.#egress, request, signal)),
      tables: (request) =>
        this.#withClient(request, gone, (client, signal) => listTableSizes(client, { limit: request.limit }, signal)),
      newestRows: (request) =>
        this.#withClient(request, gone, async (client, signal) => {
          const { database, tables, table, limit } = request
          const sizes = await listTableSizes(client, { database, tables, limit: tables.length }, signal)
          const newest = sizes.some((size) => size.table === table)
            ? await readNewestRows(client, { database, table }, { limit, timeoutMs: contentsTimeoutMs }, signal)
            : undefined
          return { sizes, newest: newest ?? { columns: [], rows: [], isCut: false } }
        }),
      destination: (request) =>
        this.#withClient(request, gone, (client, signal) => findDestination(client, request, signal)),
      typeChoice: (request) =>
        this.#withClient(request, gone, async (client, signal) => {
          const families = await loadTypeFamilies(client, signal)
          return (type) => (families ? availableType(type, families) : type)
        }),
    }
  }

  /** Aborts all reads. */
  close(): void {
    this.#closing.abort()
  }

  #withClient<Result>(
    request: EngineRead,
    gone: AbortSignal | undefined,
    read: (client: EngineClient, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return this.#run(request, gone, contentsTimeoutMs, async (signal) => {
      const client = openEngineClient(this.#egress, request.engine)
      try {
        return await read(client, signal)
      } finally {
        client.close()
      }
    })
  }

  async #run<Result>(
    { organizationId, serviceId, url }: EngineRead,
    gone: AbortSignal | undefined,
    timeoutMs: number,
    read: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (!this.#isFree(organizationId)) throw busy()
    this.#reading.push(organizationId)
    const overdue = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([overdue, this.#closing.signal, ...(gone ? [gone] : [])])
    const report = (outcome: ReadOutcome['outcome']) => this.#report({ organizationId, serviceId, url, outcome })
    try {
      const result = await read(signal)
      report('answered')
      return result
    } catch (error) {
      if (overdue.aborted || (!signal.aborted && isEngineUnusable(error))) report('failed')
      if (overdue.aborted) throw away(`the engine did not answer within ${timeoutMs / 1000} s`)
      // The caller is gone, or the process is stopping.
      if (signal.aborted) throw busy()
      if (!(error instanceof EngineError)) throw error
      throw error.kind === 'user' ? new Problem('engine_refuses', error.message) : away(error.message)
    } finally {
      this.#reading.splice(this.#reading.indexOf(organizationId), 1)
    }
  }

  #isFree(organizationId: string): boolean {
    const ofOrganization = this.#reading.filter((one) => one === organizationId).length
    return this.#reading.length < maxAtOnce && ofOrganization < maxOfOrganization
  }
}

async function readBadRows(
  egress: Egress,
  { engine, database, tables, pipeId, limit }: BadRowsRequest,
  signal: AbortSignal,
): Promise<ShownBadRow[]> {
  const options = { signal }
  const tablesWithBadRows =
    tables.length > 1 ? await listTablesWithBadRows(egress, engine, { database, tables }, options) : tables
  let newest: ShownBadRow[] = []
  for (const table of tablesWithBadRows) {
    const badRows = await openBadRows(egress, engine, { database, table }, options)
    try {
      const rows = await badRows.list(pipeId, { limit })
      newest = [...newest, ...rows].toSorted(newestFirst).slice(0, limit)
    } finally {
      await badRows.close()
    }
  }
  return newest
}

/** Rows with the same timestamp are in the order in which one table would have them. */
function newestFirst(one: ShownBadRow, other: ShownBadRow): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1
  return one.id < other.id ? 1 : -1
}

const laterHeaders = { 'retry-after': '5' }

/** An unreachable engine is not our failure. */
function away(sentence: string): Problem {
  return new Problem('engine_unavailable', sentence, { headers: laterHeaders, isOverload: true })
}

function busy(): Problem {
  const sentence = 'too many reads from engines are in progress; try again in 5 seconds'
  return new Problem('unavailable', sentence, { headers: laterHeaders, isOverload: true })
}
