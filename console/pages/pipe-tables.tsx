// Progress of the tables of a postgres pipe, loading tables first.
import { Progress, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Pipe, PipeTable } from '../../src/client/shapes.ts'
import { pipeMetricsQuery } from '../api/queries.ts'
import { countOf, durationOf } from '../components/amounts.ts'
import { type Column, ListTable } from '../components/list-table.tsx'
import { Section } from '../components/section.tsx'

type TableState = PipeTable['state']

const order: TableState[] = ['loading', 'waiting', 'following', 'loaded']
const stateTexts: Record<TableState, string> = {
  waiting: 'Waiting to be loaded',
  loading: 'Loading',
  following: 'Replicating changes',
  loaded: 'Loaded',
}
const resyncTexts: Record<TableState, string> = {
  ...stateTexts,
  waiting: 'Waiting to be reloaded',
  loading: 'Reloading',
}
const summaryTexts: Record<TableState, (count: string) => string> = {
  loading: (count) => `${count} loading`,
  waiting: (count) => `${count} waiting`,
  following: (count) => `${count} replicating changes`,
  loaded: (count) => `${count} loaded`,
}

/** Number of tables shown at first, and added by the button: a pipe may have a thousand. */
const shownAtOnce = 50

const columns: Column<PipeTable>[] = [
  {
    label: 'Source table',
    cell: (table) => <span className="table-name">{sourceOf(table)}</span>,
    width: '24%',
  },
  { label: 'Target table', cell: (table) => <Target table={table} />, width: '24%' },
  {
    label: 'State',
    cell: ({ state, isResync }) => (isResync ? resyncTexts : stateTexts)[state],
    width: '18%',
  },
  { label: 'Rows loaded', cell: (table) => <Load table={table} /> },
]

export function PipeTables({ organizationId, pipe }: { organizationId: string; pipe: Pipe }) {
  const read = useQuery(pipeMetricsQuery(organizationId, pipe.serviceId, pipe.id))
  const [shown, setShown] = useState(shownAtOnce)
  const tables = read.data?.result.tables
  // Refetched every two seconds: unchanged rows keep their identity and are not rendered again.
  const sorted = useMemo(
    () => tables?.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state)) ?? [],
    [tables],
  )
  // The error is shown with the other metrics.
  if (!tables) return null
  return (
    <Section title="Tables" about={summaryOf(tables)}>
      <ListTable
        caption="Progress of each table"
        items={sorted.slice(0, shown)}
        keyOf={({ targetTable }) => targetTable}
        query={{
          isPending: false,
          hasNextPage: tables.length > shown,
          isFetchingNextPage: false,
          fetchNextPage: () => setShown(shown + shownAtOnce),
        }}
        empty={<Rows>The pipe has no tables</Rows>}
        columns={columns}
      />
    </Section>
  )
}

function summaryOf(tables: PipeTable[]): string {
  const counts = order.flatMap((state) => {
    const { length } = tables.filter((table) => table.state === state)
    return length === 0 ? [] : [summaryTexts[state](length.toLocaleString('en'))]
  })
  return `${counts.join(', ')}.`
}

function sourceOf({ sourceSchemaName, sourceTable }: PipeTable): string {
  return `${sourceSchemaName}.${sourceTable}`
}

function Target({ table: { targetTable, isResync } }: { table: PipeTable }) {
  return (
    <>
      <span className="table-name">{targetTable}</span>
      {isResync && (
        <Text size="xs" c="dimmed">
          Replaces the current table once it is loaded
        </Text>
      )}
    </>
  )
}

function Load({ table }: { table: PipeTable }) {
  const { state, percent, secondsLeft } = table
  if (state === 'waiting') return <Rows>None yet</Rows>
  if (state !== 'loading')
    return <Rows>{percent === null ? 'None: only changes are replicated' : countOf(table.rowsLoaded, 'row')}</Rows>
  return (
    <Stack gap={4}>
      {percent !== null && <Progress value={percent} w="100%" miw={160} aria-label={`Load of ${sourceOf(table)}`} />}
      <Text size="sm">
        {[loadProgressOf(table), secondsLeft === null ? [] : `${durationOf(secondsLeft)} left`].flat().join(', ')}
      </Text>
    </Stack>
  )
}

function Rows({ children }: { children: string }) {
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  )
}

/** `12.5%, 1,200 of about 9,600 rows`. */
function loadProgressOf({ percent, rowsLoaded, rowsEstimated }: PipeTable): string[] {
  const rows =
    rowsEstimated === null
      ? countOf(rowsLoaded, 'row')
      : `${rowsLoaded.toLocaleString('en')} of about ${countOf(rowsEstimated, 'row')}`
  return percent === null ? [rows] : [`${percent}%`, rows]
}
