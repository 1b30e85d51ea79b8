// Writes of the runner, by name, for the list of database writes.
import type { WriteContext } from '../database/database.ts'
import { reportEngine } from '../services/store.ts'
import * as claims from './claims/store.ts'
import * as leftovers from './leftovers/store.ts'
import * as retained from './retained/store.ts'
import * as runners from './runners/store.ts'
import * as progress from './store.ts'
import * as tables from './tables/store.ts'
import * as workers from './workers/store.ts'

const withSql =
  <Input, Result>(write: (sql: WriteContext['sql'], input: Input) => Promise<Result>) =>
  ({ sql }: WriteContext, input: Input): Promise<Result> =>
    write(sql, input)

export const progressWrites = {
  setPositions: withSql(progress.setPositions),
  keepLosses: withSql(progress.keepLosses),
  claimPositions: withSql(progress.claimPositions),
  beginDelivery: withSql(progress.beginDelivery),
  rejectRows: withSql(progress.rejectRows),
  finishDeliveries: withSql(progress.finishDeliveries),
  setRejections: withSql(progress.setRejections),
  reportRecreatedTable: withSql(progress.reportRecreatedTable),
  saveTable: withSql(tables.saveTable),
  requestOwnReload: withSql(tables.requestOwnReload),
  removeTable: withSql(tables.removeTable),
  planLoad: withSql(tables.planLoad),
  finishRange: withSql(tables.finishRange),
  finishSwap: withSql(tables.finishSwap),
  claimWorkers: withSql(workers.claimWorkers),
  reportRunner: withSql(runners.reportRunner),
  keepDoing: withSql(runners.keepDoing),
  reportWorker: withSql(workers.reportWorker),
  settlePipe: withSql(workers.settlePipe),
  releaseWorkers: withSql(workers.releaseWorkers),
  failPipe: withSql(workers.failPipe),
  endReplay: withSql(workers.endReplay),
  claimLeftover: withSql(leftovers.claimLeftover),
  postponeLeftover: withSql(leftovers.postponeLeftover),
  forgetLeftover: withSql(leftovers.forgetLeftover),
  reportEngine: withSql(reportEngine),
  keepRetained: withSql(retained.keepRetained),
  endRunner: withSql(runners.endRunner),
  endDeadRunner: withSql(runners.endDeadRunner),
  endOtherRunners: withSql(runners.endOtherRunners),
  forgetRunners: withSql(runners.forgetRunners),
  forgetOldThroughput: withSql(progress.forgetOldThroughput),
  forgetFinishedPartitions: withSql(claims.forgetFinishedPartitions),
}

export type ProgressWrites = typeof progressWrites
