// Whether the result of a source check still applies to the edited form.
import type { PenstockError } from '../../src/client/error.ts'
import type { SchemaDiscovery, SchemaDiscoveryRequest } from '../../src/client/shapes.ts'

export interface SourceQuestion {
  body: SchemaDiscoveryRequest
  kind: string | undefined
  /** Identifies the source without its tables: a result with another key is about another source. */
  sourceKey: string
  /** Identifies the checked tables: adding one keeps a passed check valid, but may fix a failed one. */
  tablesKey: string
  /** Identifies the columns and mappings that the sample was compared with. */
  fitKey: string
  /** Converts the pointers of an error to fields of the form. */
  inForm: (error: PenstockError) => PenstockError
}

export interface CheckOutcome {
  asked: SourceQuestion
  found?: SchemaDiscovery
  error?: PenstockError
}

export interface CheckView {
  state: 'none' | 'running' | 'cancelled' | 'outdated' | 'passed' | 'failed'
  /** Result of a passed check of the current source. */
  found?: SchemaDiscovery
  /** Error of a failed check, with pointers to fields of the form. */
  error?: PenstockError
  /** Whether columns or mappings have changed since the check. */
  isFitOutdated?: boolean
}

export function viewOfCheck(
  outcome: CheckOutcome | 'running' | 'cancelled' | undefined,
  question: SourceQuestion,
): CheckView {
  if (outcome === 'running' || outcome === 'cancelled') return { state: outcome }
  // Results of another source kind do not apply.
  if (!outcome || outcome.asked.kind !== question.kind) return { state: 'none' }
  const { asked, found, error } = outcome
  const isSame = (key: 'sourceKey' | 'tablesKey' | 'fitKey'): boolean => asked[key] === question[key]
  if (!isSame('sourceKey')) return { state: 'outdated' }
  if (found) return { state: 'passed', found, isFitOutdated: !isSame('fitKey') }
  return error && isSame('tablesKey') && isSame('fitKey') ? { state: 'failed', error } : { state: 'outdated' }
}
