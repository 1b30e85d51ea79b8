// How every operation on one pipe begins and ends: found, locked, checked against `If-Match`; changed, recorded, answered.
import type { Sql } from '../database/sql.ts'
import { differences } from '../lib/merge-patch.ts'
import type { Change, OperationContext } from '../operation/operation.ts'
import { loadService } from '../services/service.ts'
import { pipeNotFound, type StoredPipe, showPipe } from './pipe.ts'
import { findPipe, lockPipe, type PipeKey, updatePipeRow } from './store.ts'

export async function loadPipe(sql: Sql, key: PipeKey): Promise<StoredPipe> {
  return (await findPipe(sql, key)) ?? failToFind(sql, key)
}

/** Holds the pipe until the transaction ends. */
export async function loadPipeToChange(
  { sql, requireVersion }: Pick<OperationContext, 'sql' | 'requireVersion'>,
  key: PipeKey,
): Promise<StoredPipe> {
  const pipe = (await lockPipe(sql, key)) ?? (await failToFind(sql, key))
  requireVersion(String(pipe.version))
  return pipe
}

async function failToFind(sql: Sql, { organizationId, serviceId, pipeId }: PipeKey): Promise<never> {
  await loadService(sql, organizationId, serviceId)
  throw pipeNotFound(serviceId, pipeId)
}

export interface ChangedPipe {
  pipe: StoredPipe
  /** The secrets that are not what they were. Of a field that is shown masked, this is all there is to say. */
  secretChanges?: Change[]
}

/** Stores and records what `change` makes of the pipe. When that is nothing, version and `updatedAt` stay as they are. */
export async function changePipe(
  context: OperationContext,
  key: PipeKey,
  change: (pipe: StoredPipe) => ChangedPipe,
): Promise<StoredPipe> {
  const { sql, now, record } = context
  const pipe = await loadPipeToChange(context, key)
  const { pipe: changed, secretChanges = [] } = change(pipe)
  const secretFields = new Set(secretChanges.map(({ field }) => field))
  const shownChanges = differences(showPipe(pipe), showPipe(changed)).filter(({ field }) => !secretFields.has(field))
  const changes: Change[] = [...shownChanges, ...secretChanges]
  if (changes.length === 0) return pipe

  const updated: StoredPipe = {
    ...changed,
    // The clocks of two processes may differ; time does not run backwards for a reader.
    updatedAt: now > pipe.updatedAt ? now : pipe.updatedAt,
    version: pipe.version + 1,
  }
  await updatePipeRow(sql, updated)
  record({ type: 'pipe', id: pipe.id, serviceId: pipe.serviceId }, changes)
  return updated
}
