import { Text } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import type { Pipe, Service } from '../../src/client/shapes.ts'
import { allPipesQuery, allServicesQuery } from '../api/queries.ts'
import { type Column, ListTable } from '../components/list-table.tsx'
import { Page } from '../components/page.tsx'
import { kindLabel, kindOf } from '../components/pipe-fields.ts'
import { shownPipeState } from '../components/pipe-state.ts'
import { PipeTables, tablesOf } from '../components/pipe-tables.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { RowLink } from '../components/row-parts.tsx'
import { PipeStateBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'
import type { PipeFilter } from '../route-search.ts'
import { NewPipeButton, NoPipe, NoService, NothingFits } from './pipes-empty.tsx'
import { PipeFilters } from './pipes-filters.tsx'

const rowsAtOnce = 100

interface Row {
  pipe: Pipe
  service: Service
}

export function PipesPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/pipes' })
  const filter = useSearch({ from: '/signed-in/o/$organizationId/pipes' })
  const { services, rows, isPending, unread } = useAllPipes(organizationId, filter.service)
  const found = rows.filter((row) => fits(row, filter))
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const hasList = services.length > 0 && (rows.length > 0 || isFiltered || unread.length > 0)
  const [shownRows, setShownRows] = useState(rowsAtOnce)
  const columns = useMemo(() => columnsFor(organizationId), [organizationId])
  return (
    <Page
      title="Pipes"
      about="A pipe reads a source and writes to tables of a service. These are the pipes of all services."
      actions={hasList && <NewPipeButton organizationId={organizationId} service={filter.service} />}
    >
      {unread.length > 0 && (
        <ReadProblem
          error={unread[0]!.error}
          title={`The pipes of ${listOf(unread.map(({ service }) => service.name))} could not be read`}
        />
      )}
      {hasList && <PipeFilters organizationId={organizationId} services={services} />}
      {rows.length > 0 && !isPending && (
        <Text size="sm" c="dimmed" role="status">
          {found.length === rows.length ? countOf(rows.length) : `${found.length} of ${countOf(rows.length)}`}
        </Text>
      )}
      <ListTable
        caption="Pipes of the organization"
        items={found.slice(0, shownRows)}
        columns={columns}
        keyOf={({ pipe }) => pipe.id}
        minWidth={900}
        query={{
          isPending,
          isFetchingNextPage: false,
          hasNextPage: found.length > shownRows,
          fetchNextPage: () => setShownRows(shownRows + rowsAtOnce),
        }}
        empty={
          unread.length > 0 ? null : services.length === 0 ? (
            <NoService organizationId={organizationId} />
          ) : isFiltered ? (
            <NothingFits organizationId={organizationId} />
          ) : (
            <NoPipe organizationId={organizationId} />
          )
        }
      />
    </Page>
  )
}

function useAllPipes(organizationId: string, onlyService: string | undefined) {
  const servicesRead = useQuery(allServicesQuery(organizationId))
  const services = servicesRead.data ?? []
  const asked = onlyService === undefined ? services : services.filter(({ id }) => id === onlyService)
  const reads = useQueries({
    queries: asked.map(({ id }) => ({
      ...allPipesQuery(organizationId, id),
      // One request per service: with many services the interval is longer.
      refetchInterval: Math.max(10_000, asked.length * 1_000),
      throwOnError: false,
    })),
  })
  const unread = asked.flatMap((service, index) => {
    const { error, data } = reads[index]!
    return error && !data ? [{ service, error }] : []
  })
  // A row keeps its identity while pipe and service are unchanged, so that only changed rows are rendered again.
  const known = useRef(new WeakMap<Pipe, Row>())
  const rowOf = (pipe: Pipe, service: Service): Row => {
    const row = known.current.get(pipe)
    if (row?.service === service) return row
    const made = { pipe, service }
    known.current.set(pipe, made)
    return made
  }
  const rows = asked.flatMap((service, index) => (reads[index]?.data ?? []).map((pipe) => rowOf(pipe, service)))
  return { services, rows, unread, isPending: servicesRead.isPending || reads.some(({ isPending }) => isPending) }
}

function fits({ pipe, service }: Row, { state, kind, text }: PipeFilter): boolean {
  if (state !== undefined && shownPipeState(pipe.state, service) !== state) return false
  if (kind !== undefined && kindOf(pipe) !== kind) return false
  if (text === undefined) return true
  const lowerCased = text.toLowerCase()
  return [pipe.name, pipe.id, service.name, ...tablesOf(pipe)].some((field) => field.toLowerCase().includes(lowerCased))
}

function listOf(names: string[]): string {
  const shown = names.length > 3 ? [...names.slice(0, 2), `${names.length - 2} other services`] : names
  return new Intl.ListFormat('en').format(shown)
}

const countOf = (count: number): string => `${count} ${count === 1 ? 'pipe' : 'pipes'}`

function columnsFor(organizationId: string): Column<Row>[] {
  const servicePath = (serviceId: string) => `/o/${organizationId}/services/${serviceId}`
  return [
    {
      label: 'Name',
      cell: ({ pipe }) => (
        <RowLink isStrong to={`${servicePath(pipe.serviceId)}/pipes/${pipe.id}`}>
          {pipe.name}
        </RowLink>
      ),
    },
    { label: 'Kind', cell: ({ pipe }) => kindLabel(pipe), width: 130 },
    {
      label: 'Service',
      cell: ({ service }) => <RowLink to={servicePath(service.id)}>{service.name}</RowLink>,
      width: 160,
    },
    {
      label: 'State',
      cell: ({ pipe, service }) => <PipeStateBadge state={pipe.state} service={service} />,
      width: 130,
    },
    { label: 'Destination', cell: ({ pipe }) => <PipeTables pipe={pipe} /> },
    { label: 'Updated', cell: ({ pipe }) => <Time at={pipe.updatedAt} />, width: 130 },
  ]
}
