// Common steps of the operations on one pipe: find, lock, check `If-Match`, change, record.
import { differences } from '../lib/merge-patch.ts'
import type { Change, OperationContext } from '../operation/operation.ts'
import type { PipeKey } from '../progress/progress.ts'
import { type StoredPipe, showPipe } from './pipe.ts'
import { loadPipeToChange, updatePipeRow } from './store.ts'

export interface ChangedPipe {
  pipe: StoredPipe
  /** Changed secrets. They replace the shown change of a masked field. */
  secretChanges?: Change[]
}

/** Stores and records the result of `change`. Without a difference, version and `updatedAt` stay the same. */
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
    // Clocks of two processes may differ; `updatedAt` never goes back.
    updatedAt: now > pipe.updatedAt ? now : pipe.updatedAt,
    version: pipe.version + 1,
  }
  await updatePipeRow(sql, updated)
  record({ type: 'pipe', id: pipe.id, serviceId: pipe.serviceId }, changes)
  return updated
}
