import { Alert, Text } from '@mantine/core'
import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { asPenstockError } from '../api/change.ts'

/** What is shown was read once, and reading it again failed. */
function isOutOfDate({ state }: Query): boolean {
  if (state.data === undefined) return false
  if (state.fetchStatus === 'paused') return true
  // The list itself tells when more of it could not be read; what a session that has ended refused, the dialog tells.
  const wasForMore = state.fetchMeta?.fetchMore?.direction !== undefined
  return state.status === 'error' && !wasForMore && asPenstockError(state.error).status !== 401
}

function reasonIn(queries: QueryClient): string | undefined {
  const query = queries.getQueryCache().findAll({ type: 'active', predicate: isOutOfDate })[0]
  if (!query) return undefined
  if (query.state.status !== 'error') return 'this browser is offline'
  const { status, message } = asPenstockError(query.state.error)
  return status === 0 || status >= 502 ? 'Penstock does not answer' : message
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
          <Text size="sm">What you see may be out of date: {reason}.</Text>
        </Alert>
      )}
    </div>
  )
}
