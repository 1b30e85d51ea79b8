import { Alert, Text } from '@mantine/core'
import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { asPenstockError } from '../api/change.ts'
import { sentence } from './sentence.ts'

/** What is shown was read once, and reading it again failed; or a part of the page cannot be read because nobody answers. */
function isOutOfDate({ state }: Query): boolean {
  if (state.data === undefined) return state.status === 'error' && isUnreachable(state.error)
  if (state.fetchStatus === 'paused') return true
  // The list itself tells when more of it could not be read; what a session that has ended refused, the dialog tells.
  const wasForMore = state.fetchMeta?.fetchMore?.direction !== undefined
  return state.status === 'error' && !wasForMore && asPenstockError(state.error).status !== 401
}

/** No answer, or only one of a proxy. */
export function isUnreachable(error: unknown): boolean {
  const { status } = asPenstockError(error)
  return status === 0 || status === 502 || status === 504
}

function reasonIn(queries: QueryClient): string | undefined {
  const query = queries.getQueryCache().findAll({ type: 'active', predicate: isOutOfDate })[0]
  if (!query) return undefined
  if (query.state.status !== 'error') return 'This browser is offline.'
  if (isUnreachable(query.state.error)) return "Can't reach Penstock. Retrying…"
  return sentence(asPenstockError(query.state.error).message)
}

/** Stands above the page as long as anything on it could not be read again. */
export function OutOfDateNotice() {
  const queries = useQueryClient()
  const subscribe = useCallback((listen: () => void) => queries.getQueryCache().subscribe(listen), [queries])
  const reason = useSyncExternalStore(subscribe, () => reasonIn(queries))
  return (
    <div role="status">
      {reason !== undefined && (
        <Alert color="yellow" variant="light" mb="lg" maw={1180}>
          <Text size="sm">{reason} What you see may be out of date.</Text>
        </Alert>
      )}
    </div>
  )
}
