// Prepare step of an operation: runs before its transaction, in the main thread with a reader, and may wait for the network.

import type { EngineReads } from '../engine/engine-reader.ts'
import { hasRecord } from '../idempotency/store.ts'
import { Problem } from '../lib/problem.ts'
import type { Change, OperationAnswer, OperationRequest } from '../operation/operation.ts'
import { operationsById } from '../operations.ts'
import type { Probe } from '../source-shapes/probe.ts'
import { type AttemptedActivity, type ExecutionContext, readBody, requireVersion } from './execute-operation.ts'

/** The prepare step runs again when concurrent changes have outdated its result, up to this many times. */
const maxAttempts = 3

export interface PrepareParts {
  makeProbe(): Promise<Probe>
  loadEngineReads(): Promise<EngineReads>
  recordActivity(activity: AttemptedActivity): Promise<void>
}

/** Runs the prepare step if the operation has one, then executes it; repeats both when the prepared result is outdated. */
export async function prepareAndExecute(
  executionContext: ExecutionContext,
  request: OperationRequest,
  { makeProbe, loadEngineReads, recordActivity }: PrepareParts,
  execute: (request: OperationRequest) => Promise<OperationAnswer>,
): Promise<OperationAnswer> {
  const operation = operationsById.get(request.operationId)!
  const { prepare } = operation
  if (!prepare?.isNeeded(request.body)) return execute(request)
  // A repeated request gets the stored response.
  if (await isRepetition(executionContext, request)) return execute(request)
  const { sql, vault, settings } = executionContext
  const { caller, params, query, ifMatch } = request
  let probe: Probe | undefined
  const context = {
    sql,
    vault,
    settings,
    caller,
    requireVersion: (version: string) => requireVersion(ifMatch, version),
    probe: async (probed: Parameters<Probe>[0]) => {
      probe ??= await makeProbe()
      return probe(probed)
    },
    loadEngineReads,
    record: (target: Record<string, string>, changes: Change[]) =>
      recordActivity({ type: prepare.activity!, caller, requestId: request.requestId, target, changes }),
  }
  for (let attempt = 1; ; attempt++) {
    const { body, echoed } = await readBody(executionContext, operation, request)
    // With errors in echoed fields, `run` reports all validation errors at once.
    const prepared = echoed.length > 0 ? undefined : await prepare.run(context, { params, query, body })
    try {
      return await execute({ ...request, prepared })
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'changed_meanwhile' || attempt === maxAttempts) throw error
    }
  }
}

async function isRepetition({ sql }: ExecutionContext, { caller, idempotency }: OperationRequest): Promise<boolean> {
  if (!idempotency) return false
  const { organizationId, id: callerId } = caller
  const now = new Date().toISOString()
  return hasRecord(sql, { organizationId, callerId, idempotencyKey: idempotency.key }, now)
}
