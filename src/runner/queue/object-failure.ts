// Errors that concern a single object. It is tried a few times and then given up, so that it does not block other objects.

import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { ObjectUnavailable } from '../../sources/object-storage/object-store.ts'

/** Attempts before an object is given up. */
export const maxObjectAttempts = 5

/** Failed attempts, by partition. */
export type ObjectAttempts = Map<string, number>

/**
 * The reason when the error concerns only this object. Undefined when it may concern all objects, such as a missing account, bucket or
 * key.
 */
export function findObjectFailure(error: unknown): string | undefined {
  if (!(error instanceof ProbeFailure)) return undefined
  const { step, code, reason } = error
  // Readers use this code only for a changed object; temporary errors are NotConnected.
  const isChanged = step === 'read' && code === 'source_failed'
  const isOfObject = isChanged || code === 'undecodable' || error instanceof ObjectUnavailable
  return isOfObject ? reason : undefined
}
