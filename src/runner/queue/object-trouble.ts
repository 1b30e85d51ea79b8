// What is wrong with one object, and with nothing else: it is tried a few times, and given up, so that it never holds up the others.
import { ObjectUnavailable } from '../../sources/object-storage/object-store.ts'
import { ProbeFailure } from '../../sources/source.ts'

/** After so many attempts an object is given up. */
export const mostTries = 5

/** Attempts in vain, by partition. */
export type Tries = Map<string, number>

/**
 * Undefined when the error tells of more than the object, or may do so: of an account, a bucket or a key that is missing, all objects
 * would be given up.
 */
export function findTrouble(error: unknown): string | undefined {
  if (!(error instanceof ProbeFailure)) return undefined
  const { step, code, reason } = error
  // Readers tell nothing else by this code: what passes is NotConnected.
  const isChanged = step === 'read' && code === 'source_failed'
  const isOfObject = isChanged || code === 'undecodable' || error instanceof ObjectUnavailable
  return isOfObject ? reason : undefined
}
