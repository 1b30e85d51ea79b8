// Newest rows of the destination tables, read from the engine.
import { Select, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Pipe, PipeRows } from '../../src/client/shapes.ts'
import { mostRows, pipeRowsQuery } from '../api/queries.ts'
import { countOf } from '../components/amounts.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { NotSet } from '../components/facts.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { ScrollTable } from '../components/scroll-table.tsx'
import { Section } from '../components/section.tsx'
import { tableSize } from '../components/table-size.ts'

const address = '/signed-in/o/$organizationId/services/$serviceId/pipes/$pipeId'

export function PipeData({ organizationId, pipe }: { organizationId: string; pipe: Pipe }) {
  const { table } = useSearch({ from: address })
  const navigate = useNavigate()
  const read = useQuery({
    ...pipeRowsQuery(organizationId, pipe.serviceId, pipe.id, table),
    placeholderData: keepPreviousData,
  })
  const data = read.data?.result
  if (read.isPending) return <LoadingPage />
  if (!data) return <ReadProblem error={read.error} title="The rows could not be read" />
  if (data.tables.length === 0) {
    return (
      <EmptyState title="No rows yet">
        The newest rows of the destination appear here as soon as the pipe has inserted some.
      </EmptyState>
    )
  }
  const tables = data.tables.map((one) => one.table)
  return (
    <Section
      title={`${pipe.destination.database}.${data.table}`}
      about={<About data={data} />}
      actions={
        tables.length > 1 && (
          <Select
            aria-label="Table"
            data={tables}
            value={data.table}
            allowDeselect={false}
            searchable
            onChange={(chosen) =>
              void navigate({
                from: '/o/$organizationId/services/$serviceId/pipes/$pipeId',
                search: { tab: 'data', table: chosen ?? undefined },
                resetScroll: false,
              })
            }
          />
        )
      }
    >
      {read.error && <ReadProblem error={read.error} title="This may be out of date" />}
      {data.rows.length === 0 ? (
        <Text size="sm">
          <NoRows data={data} />
        </Text>
      ) : (
        <Rows data={data} />
      )}
    </Section>
  )
}

function NoRows({ data: { tables, table } }: { data: PipeRows }) {
  const size = tables.find((one) => one.table === table)
  if (!size) return 'The table does not exist yet.'
  return size.rows ? 'The newest changes only deleted rows.' : 'The table is empty.'
}

function About({ data: { tables, table, rows, isCut } }: { data: PipeRows }) {
  const size = tables.find((one) => one.table === table)
  return (
    <>
      {size && `${tableSize(size)}. `}
      {rows.length === mostRows ? `The newest ${mostRows} are shown` : `${countOf(rows.length, 'row')} shown`}, highest
      version or sorting key first.{isCut && ' Long values are shortened.'}
    </>
  )
}

interface IndexedRow {
  values: (string | null)[]
  key: string
}

function Rows({ data: { table, columns, rows } }: { data: PipeRows }) {
  const items = rows.map((values, index) => ({ values, key: String(index) }))
  return (
    <ScrollTable
      caption={`Newest rows of ${table}`}
      isCompact
      items={items}
      keyOf={({ key }) => key}
      columns={columns.map(({ name, type }, index) => ({
        label: name,
        detail: type,
        cell: ({ values }: IndexedRow) => <Value value={values[index] ?? null} />,
      }))}
    />
  )
}

function Value({ value }: { value: string | null }) {
  if (value === null) return <NotSet>NULL</NotSet>
  return (
    <div className="sample-cell" title={value}>
      {value}
    </div>
  )
}
