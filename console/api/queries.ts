// Queries of the pages. The first part of a query key is the organization, whose data is refetched after a change.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Answer } from '../../src/client/caller.ts'
import type { Pipe } from '../../src/client/shapes.ts'
import { api, engineApi } from './client.ts'
import { readMetrics } from './metrics.ts'

/** For states that change without user action. */
const lively = { refetchInterval: 10_000 }

function pages<Item>(
  key: unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<Item[]>>,
) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Answer<Item[]>) => page.next,
  })
}

/** Reads all pages of a list. */
async function all<Item>(read: (cursor: string | undefined) => Promise<Answer<Item[]>>): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    items.push(...page.result)
    cursor = page.next
  } while (cursor !== undefined)
  return items
}

/** Reads the first pages of a list, up to a limit, and whether these are all. */
async function firstOf<Item>(
  most: number,
  read: (cursor: string | undefined) => Promise<Answer<Item[]>>,
): Promise<{ items: Item[]; areAll: boolean }> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    items.push(...page.result)
    cursor = page.next
  } while (cursor !== undefined && items.length < most)
  return { items, areAll: cursor === undefined }
}

const mostToLookThrough = 5_000

export const organizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [organizationId, 'organization'],
    queryFn: ({ signal }) => api.getOrganization({ organizationId }, { signal }),
  })

export const metricsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [organizationId, 'metrics'],
    queryFn: async ({ signal }) =>
      readMetrics((await api.getOrganizationPrometheus({ organizationId }, { signal })).result),
    ...lively,
  })

export const membersQuery = (organizationId: string, search?: string) =>
  pages([organizationId, 'members', { search }], (cursor, signal) =>
    api.listMembers({ organizationId, cursor, search }, { signal }),
  )

export const memberQuery = (organizationId: string, userId: string) =>
  queryOptions({
    queryKey: [organizationId, 'members', userId],
    queryFn: ({ signal }) => api.getMember({ organizationId, userId }, { signal }),
  })

export const invitationsQuery = (organizationId: string) =>
  pages([organizationId, 'invitations'], (cursor, signal) =>
    api.listInvitations({ organizationId, cursor }, { signal }),
  )

export const allInvitationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [organizationId, 'invitations', 'all'],
    queryFn: ({ signal }) =>
      firstOf(mostToLookThrough, (cursor) => api.listInvitations({ organizationId, cursor, limit: 1000 }, { signal })),
  })

export const keysQuery = (organizationId: string) =>
  pages([organizationId, 'keys'], (cursor, signal) => api.listKeys({ organizationId, cursor }, { signal }))

export const allKeysQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [organizationId, 'keys', 'all'],
    queryFn: ({ signal }) =>
      firstOf(mostToLookThrough, (cursor) => api.listKeys({ organizationId, cursor, limit: 1000 }, { signal })),
  })

export const keyQuery = (organizationId: string, keyId: string) =>
  queryOptions({
    queryKey: [organizationId, 'keys', keyId],
    queryFn: ({ signal }) => api.getKey({ organizationId, keyId }, { signal }),
  })

export const servicesQuery = (organizationId: string) => ({
  ...pages([organizationId, 'services'], (cursor, signal) => api.listServices({ organizationId, cursor }, { signal })),
  ...lively,
})

export const allServicesQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', 'all'],
    queryFn: ({ signal }) => all((cursor) => api.listServices({ organizationId, cursor, limit: 1000 }, { signal })),
    ...lively,
  })

export const serviceQuery = (organizationId: string, serviceId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId],
    queryFn: ({ signal }) => api.getService({ organizationId, serviceId }, { signal }),
    ...lively,
  })

/** Polls every second until the first check of the engine. */
export const followedServiceQuery = (organizationId: string, serviceId: string) =>
  queryOptions({
    ...serviceQuery(organizationId, serviceId),
    refetchInterval: ({ state: { data } }) => {
      const isAwaited = data?.result.state === 'provisioning' && data.result.endpoints.length > 0
      return isAwaited ? 1_000 : lively.refetchInterval
    },
  })

export const privateEndpointsQuery = (organizationId: string, serviceId: string) =>
  pages([organizationId, 'services', serviceId, 'private-endpoints'], (cursor, signal) =>
    api.listPrivateEndpoints({ organizationId, serviceId, cursor }, { signal }),
  )

export const privateEndpointConfigQuery = (organizationId: string, serviceId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'private-endpoint-config'],
    queryFn: ({ signal }) => api.getPrivateEndpointConfig({ organizationId, serviceId }, { signal }),
    retry: false,
  })

export const pipesQuery = (organizationId: string, serviceId: string) => ({
  ...pages([organizationId, 'services', serviceId, 'pipes'], (cursor, signal) =>
    api.listPipes({ organizationId, serviceId, cursor }, { signal }),
  ),
  ...lively,
})

/** Newest pipes of a service in a state. */
export const pipesInStateQuery = (organizationId: string, serviceId: string, state: Pipe['state'], limit: number) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'pipes', 'in-state', state, limit],
    queryFn: ({ signal }) => api.listPipes({ organizationId, serviceId, state, limit }, { signal }),
    throwOnError: false,
    ...lively,
  })

export const allPipesQuery = (organizationId: string, serviceId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'pipes', 'all'],
    queryFn: ({ signal }) =>
      all((cursor) => api.listPipes({ organizationId, serviceId, cursor, limit: 1000 }, { signal })),
  })

export const pipeQuery = (organizationId: string, serviceId: string, pipeId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'pipes', pipeId],
    queryFn: ({ signal }) => api.getPipe({ organizationId, serviceId, pipeId }, { signal }),
    ...lively,
  })

/** Polls only while the page is visible. */
export const pipeMetricsQuery = (organizationId: string, serviceId: string, pipeId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'pipes', pipeId, 'metrics'],
    queryFn: ({ signal }) => api.getPipeMetrics({ organizationId, serviceId, pipeId }, { signal }),
    refetchInterval: 2_000,
    // The rest of the page works without it.
    throwOnError: false,
  })

export const mostErrors = 100

export const pipeErrorsQuery = (organizationId: string, serviceId: string, pipeId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'pipes', pipeId, 'errors'],
    queryFn: ({ signal }) =>
      engineApi.listPipeErrors({ organizationId, serviceId, pipeId, limit: mostErrors }, { signal }),
    throwOnError: false,
    ...lively,
  })

export const mostRows = 100

export const pipeRowsQuery = (organizationId: string, serviceId: string, pipeId: string, table: string | undefined) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'pipes', pipeId, 'rows', table],
    queryFn: ({ signal }) =>
      engineApi.getPipeRows({ organizationId, serviceId, pipeId, table, limit: mostRows }, { signal }),
    throwOnError: false,
    ...lively,
  })

export const serviceTablesQuery = (organizationId: string, serviceId: string) =>
  queryOptions({
    queryKey: [organizationId, 'services', serviceId, 'tables'],
    queryFn: ({ signal }) => engineApi.listServiceTables({ organizationId, serviceId }, { signal }),
    throwOnError: false,
    ...lively,
  })

export interface ActivityFilter {
  type?: string | undefined
  from_date?: string | undefined
  to_date?: string | undefined
}

export const activitiesQuery = (organizationId: string, filter: ActivityFilter = {}, limit = 50) =>
  pages([organizationId, 'activities', filter, limit], (cursor, signal) =>
    api.listActivities({ organizationId, cursor, limit, ...filter }, { signal }),
  )

export const activityQuery = (organizationId: string, activityId: string) =>
  queryOptions({
    queryKey: [organizationId, 'activities', 'one', activityId],
    queryFn: ({ signal }) => api.getActivity({ organizationId, activityId }, { signal }),
  })
