// In-memory database that answers the statements by which runners share pipes, and counts their load. The statements are the real
// ones: an unknown statement is an error, so that the simulation cannot fall behind them unnoticed.
import type { Sql, SqlValues, Statement } from '../../src/database/sql.ts'
import { defaultScaling } from '../../src/pipes/scaling.ts'
import { listPipesToRun, type PipeToRun } from '../../src/pipes/store.ts'
import { type ListedWorker, listWorkers } from '../../src/progress/workers/store.ts'
import { type ProgressWrites, progressWrites } from '../../src/progress/writes.ts'
import type { RunnerDatabase } from '../../src/runner/worker-store.ts'

export interface Load {
  statements: number
  rowsRead: number
  rowsWritten: number
}

interface PipeRow {
  id: string
  organization_id: string
  state: string
  epoch: number
}

interface WorkerRow {
  pipe_id: string
  slot: number
  slots: number
  runner_id: string
  epoch: number
  expires_at: string
  pipe_version: number
  state: string
  reason: null
  phase: null
}

const pipesPerOrganization = 100
const pipeColumns = {
  kind: 'kafka',
  scaling: JSON.stringify(defaultScaling),
  settings: '{}',
  version: 1,
  replay_requested_at: null,
  losses: null,
  state_reason: null,
  service_id: 'service',
  service_version: 1,
}

export class SimulatedDatabase {
  readonly load: Load = { statements: 0, rowsRead: 0, rowsWritten: 0 }
  /** Changes of which runner works on which pipe. Renewals do not count. */
  changes = 0
  readonly #pipes = new Map<string, PipeRow>()
  /** A pipe has at most one worker here. */
  readonly #workers = new Map<string, WorkerRow>()
  readonly #workersOfRunner = new Map<string, Set<WorkerRow>>()
  readonly #runners = new Map<string, string>()
  readonly #sql: Sql
  #listedPipes: PipeToRun[] = []

  constructor(pipes: number) {
    for (let index = 0; index < pipes; index++) {
      const id = `pipe-${index}`
      const organization = `organization-${Math.floor(index / pipesPerOrganization)}`
      this.#pipes.set(id, { id, organization_id: organization, state: 'Provisioning', epoch: 0 })
    }
    this.#sql = {
      dialect: 'postgres',
      all: async (statement, values) => this.#read(statement, values),
      first: async (statement, values) => this.#read(statement, values)[0],
      run: async (statement, values) => this.#change(statement, values),
    }
  }

  get rows(): number {
    return this.#pipes.size + this.#workers.size
  }

  readonly write = ((name: keyof ProgressWrites, input: never) =>
    progressWrites[name]({ sql: this.#sql, vault: undefined as never }, input)) as RunnerDatabase['write']

  /** Rows of a survey, without counting the reads: the runners of one step share the survey. */
  async listAll(): Promise<{ pipes: PipeToRun[]; workers: ListedWorker[] }> {
    const before = { ...this.load }
    if (this.#listedPipes.length === 0) this.#listedPipes = await listPipesToRun(this.#sql)
    const workers = await listWorkers(this.#sql)
    Object.assign(this.load, before)
    return { pipes: this.#listedPipes, workers }
  }

  listRunners(seenSince: string): string[] {
    return [...this.#runners].filter(([, seenAt]) => seenAt > seenSince).map(([id]) => id)
  }

  countLook(runners: number): void {
    this.load.statements += 3
    this.load.rowsRead += this.rows + runners
  }

  /** Number of pipes that no runner holds, or whose lease has expired. */
  countVacant(now: string): number {
    let held = 0
    for (const worker of this.#workers.values()) if (worker.expires_at > now) held++
    return this.#pipes.size - held
  }

  #read<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: SqlValues): Row[] {
    const rows = this.#answer(statement.for('postgres').text, values)
    this.load.statements++
    this.load.rowsRead += rows.length
    return rows as Row[]
  }

  #answer(text: string, values: SqlValues): unknown[] {
    const { pipeId } = values
    if (/FROM organizations/.test(text)) return [{ sealed_up_to: '' }]
    if (/FROM pipes JOIN services/.test(text))
      return [...this.#pipes.values()].map((pipe) => ({ ...pipeColumns, ...pipe }))
    if (/FROM pipes\s+WHERE id/.test(text))
      return present(this.#pipes.get(String(pipeId))).map((pipe) => ({ ...pipeColumns, ...pipe }))
    if (/FROM pipe_workers$/.test(text)) return [...this.#workers.values()]
    if (/FROM pipe_workers WHERE pipe_id/.test(text)) {
      return present(this.#workers.get(String(pipeId))).filter(
        ({ epoch }) => values.epoch === undefined || epoch === values.epoch,
      )
    }
    if (/FROM pipe_workers JOIN pipes/.test(text)) {
      return [...this.#ofRunner(values)].map((worker) => ({
        ...worker,
        organization_id: this.#pipes.get(worker.pipe_id)?.organization_id,
      }))
    }
    throw new Error(`the simulation does not know how to read: ${text}`)
  }

  #change<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: SqlValues): number {
    const changed = this.#apply(statement.for('postgres').text, values)
    this.load.statements++
    this.load.rowsWritten += changed
    return changed
  }

  #apply(text: string, values: SqlValues): number {
    const { pipeId, epoch } = values
    const worker = this.#workers.get(String(pipeId))
    const pipe = this.#pipes.get(String(pipeId))
    if (/^INSERT INTO runners/.test(text)) {
      this.#runners.set(String(values.runnerId), String(values.now))
      return 1
    }
    if (/^DELETE FROM runners WHERE id =/.test(text)) return this.#runners.delete(String(values.runnerId)) ? 1 : 0
    if (/^UPDATE pipe_workers SET expires_at/.test(text)) {
      const own = this.#ofRunner(values)
      for (const row of own) row.expires_at = String(values.expiresAt)
      return own.size
    }
    if (/^UPDATE pipes SET (epoch|state)/.test(text) && pipe) {
      Object.assign(pipe, typeof epoch === 'number' ? { epoch } : { state: values.state })
      return 1
    }
    if (/^UPDATE pipe_workers SET pipe_version/.test(text)) {
      if (worker?.epoch !== epoch) return 0
      Object.assign(worker as WorkerRow, { state: values.state, pipe_version: values.pipeVersion })
      return 1
    }
    if (/^INSERT INTO pipe_workers/.test(text)) {
      this.#forget(worker)
      this.#keep(values)
      return 1
    }
    if (/^DELETE FROM pipe_workers WHERE pipe_id/.test(text)) return worker?.epoch === epoch ? this.#forget(worker) : 0
    throw new Error(`the simulation does not know how to change: ${text}`)
  }

  #keep(values: SqlValues): void {
    const row: WorkerRow = {
      pipe_id: String(values.pipeId),
      slot: Number(values.slot),
      slots: Number(values.slots),
      runner_id: String(values.runnerId),
      epoch: Number(values.epoch),
      expires_at: String(values.expiresAt),
      pipe_version: 0,
      state: 'starting',
      reason: null,
      phase: null,
    }
    this.#workers.set(row.pipe_id, row)
    this.#ofRunner(values).add(row)
    this.changes++
  }

  #forget(worker: WorkerRow | undefined): number {
    if (!worker) return 0
    this.#workers.delete(worker.pipe_id)
    this.#workersOfRunner.get(worker.runner_id)?.delete(worker)
    this.changes++
    return 1
  }

  #ofRunner(values: SqlValues): Set<WorkerRow> {
    const runnerId = String(values.runnerId)
    const own = this.#workersOfRunner.get(runnerId) ?? new Set()
    this.#workersOfRunner.set(runnerId, own)
    return own
  }
}

function present<Item>(item: Item | undefined): Item[] {
  return item === undefined ? [] : [item]
}
