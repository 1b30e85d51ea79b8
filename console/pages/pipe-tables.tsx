// How far each table of a postgres pipe has come; those that are being loaded first, since they are what people wait for.
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
  waiting: 'Waits to be loaded',
  loading: 'Is being loaded',
  following: 'Follows the source',
  loaded: 'Loaded',
}
const resyncTexts: Record<TableState, string> = {
  ...stateTexts,
  waiting: 'Waits to be loaded again',
  loading: 'Is being loaded again',
}
const summaryTexts: Record<TableState, (count: string) => string> = {
  loading: (count) => `${count} being loaded`,
  waiting: (count) => `${count} waiting`,
  following: (count) => `${count} following the source`,
  loaded: (count) => `${count} loaded`,
}

/** At first, and more with each press of the button: a pipe may have a thousand. */
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
  // Read every two seconds: as long as nothing has changed, neither the order nor a row is made again.
  const sorted = useMemo(
    () => tables?.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state)) ?? [],
    [tables],
  )
  // What keeps it from being read is told where the other figures are.
  if (!tables) return null
  return (
    <Section title="Tables" about={summaryOf(tables)}>
      <ListTable
        caption="How far each table has come"
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
          Takes the place of the present table once it is loaded
        </Text>
      )}
    </>
  )
}

function Load({ table }: { table: PipeTable }) {
  const { state, percent, secondsLeft } = table
  if (state === 'waiting') return <Rows>None yet</Rows>
  if (state !== 'loading')
    return <Rows>{percent === null ? 'None: only changes are followed' : countOf(table.rowsLoaded, 'row')}</Rows>
  return (
    <Stack gap={4}>
      {percent !== null && <Progress value={percent} w="100%" miw={160} aria-label={`Load of ${sourceOf(table)}`} />}
      <Text size="sm">
        {[shareOf(table), secondsLeft === null ? [] : `${durationOf(secondsLeft)} left`].flat().join(', ')}
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
function shareOf({ percent, rowsLoaded, rowsEstimated }: PipeTable): string[] {
  const rows =
    rowsEstimated === null
      ? countOf(rowsLoaded, 'row')
      : `${rowsLoaded.toLocaleString('en')} of about ${countOf(rowsEstimated, 'row')}`
  return percent === null ? [rows] : [`${percent}%`, rows]
}
