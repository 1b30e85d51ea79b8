// What the outcome of a check is worth, now that the form may ask something else.
import type { PenstockError } from '../../src/client/error.ts'
import type { SchemaDiscovery, SchemaDiscoveryRequest } from '../../src/client/shapes.ts'

export interface SourceQuestion {
  body: SchemaDiscoveryRequest
  kind: string | undefined
  /** The source without its tables: what was found with another key is not about this source. */
  sourceKey: string
  /** The tables that are asked about: another one does not make worse what was found, but may mend what failed. */
  tablesKey: string
  /** What the sample was compared with. */
  fitKey: string
  /** The error with pointers that lead to fields of the form. */
  inForm: (error: PenstockError) => PenstockError
}

export interface CheckOutcome {
  asked: SourceQuestion
  found?: SchemaDiscovery
  error?: PenstockError
}

export interface CheckView {
  state: 'none' | 'running' | 'cancelled' | 'outdated' | 'passed' | 'failed'
  /** Of a check that passed and is about the source as it stands in the form. */
  found?: SchemaDiscovery
  /** Of a check that failed, with pointers to fields of the form. */
  error?: PenstockError
  /** Columns or mappings are not what the sample was compared with. */
  isFitOutdated?: boolean
}

export function viewOfCheck(
  outcome: CheckOutcome | 'running' | 'cancelled' | undefined,
  question: SourceQuestion,
): CheckView {
  if (outcome === 'running' || outcome === 'cancelled') return { state: outcome }
  // What was found in a source of another kind says nothing about this one.
  if (!outcome || outcome.asked.kind !== question.kind) return { state: 'none' }
  const { asked, found, error } = outcome
  const isSame = (key: 'sourceKey' | 'tablesKey' | 'fitKey'): boolean => asked[key] === question[key]
  if (!isSame('sourceKey')) return { state: 'outdated' }
  if (found) return { state: 'passed', found, isFitOutdated: !isSame('fitKey') }
  return error && isSame('tablesKey') && isSame('fitKey') ? { state: 'failed', error } : { state: 'outdated' }
}
