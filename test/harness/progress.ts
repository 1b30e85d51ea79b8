// Pipes, leases and counters for the tests of progress.
import type { CounterChanges } from '../../src/progress/pipe-counters.ts'
import type { WorkerOfPipe } from '../../src/progress/settled-state.ts'
import type { WorkerLease } from '../../src/progress/store.ts'
import { listWorkers } from '../../src/progress/workers/store.ts'
import { leastPipes, serviceOfPipes } from './pipes.ts'
import type { TestApp } from './test-app.ts'

export const minuteMs = 60_000
const begin = Date.parse('2026-11-02T10:00:30.000Z')
export const at = (ms: number): string => new Date(begin + ms).toISOString()

export const zeroCounters: CounterChanges = {
  rowsRead: 0,
  bytesRead: 0,
  rowsWritten: 0,
  bytesWritten: 0,
  rowsRefused: 0,
  rowsReplayed: 0,
  inserts: 0,
  retries: 0,
}

export function progressOf(app: () => TestApp) {
  const write: ReturnType<typeof app>['app']['database']['write'] = (...args) => app().app.database.write(...args)

  async function makePipe(scaling: { replicas?: number } = {}, kind: 'kafka' | 'objectStorage' | 'postgres' = 'kafka') {
    const service = await serviceOfPipes(app())
    const { organizationId } = service
    const { id: pipeId } = await service.create({ ...leastPipes[kind], scaling })
    const claim = (runnerId: string, nowMs = 0, limit = 40) =>
      write(
        'claimWorkers',
        { organizationId, pipeId, runnerId, now: at(nowMs), expiresAt: at(nowMs + 15_000), limit },
        organizationId,
      )
    const leaseOf = (epoch: number, workerIndex = 0): WorkerLease => ({ organizationId, pipeId, workerIndex, epoch })
    const reportStatus = (lease: WorkerLease, state: WorkerOfPipe['state'], more: object = {}) =>
      write(
        'reportWorker',
        {
          lease,
          pipeVersion: 1,
          state,
          reason: null,
          doing: '',
          lag: null,
          phase: null,
          retainedBytes: null,
          deliveredUntil: null,
          now: at(0),
          ...more,
        },
        organizationId,
      )
    const stored = async () => (await service.load(pipeId)).state
    const reasonOf = async () =>
      (await app().query<{ state_reason: string | null }>(`SELECT state_reason FROM pipes WHERE id = '${pipeId}'`))[0]
        ?.state_reason
    return { ...service, pipeId, claim, leaseOf, reportStatus, stored, reasonOf }
  }

  const workersOf = async (pipeId: string) =>
    (await listWorkers(app().app.database.reader)).filter((worker) => worker.pipeId === pipeId)

  return { write, makePipe, workersOf }
}
