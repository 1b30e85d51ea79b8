import { Alert, Text } from '@mantine/core'
import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { asPenstockError } from '../api/change.ts'
import { sentence } from './sentence.ts'

/** Whether a refetch failed, or a part of the page could not be read because Penstock is unreachable. */
function isOutOfDate({ state }: Query): boolean {
  if (state.data === undefined) return state.status === 'error' && isUnreachable(state.error)
  if (state.fetchStatus === 'paused') return true
  // Excludes errors shown elsewhere: a failed further page by the list, an ended session by the dialog.
  const wasForMore = state.fetchMeta?.fetchMore?.direction !== undefined
  return state.status === 'error' && !wasForMore && asPenstockError(state.error).status !== 401
}

/** No response, or only one from a proxy. */
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

/** Shown above the page while any part of it could not be refetched. */
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
