// Tables of a service with row counts and sizes, read from the engine.
import { useQuery } from '@tanstack/react-query'
import type { Service } from '../../src/client/shapes.ts'
import { serviceTablesQuery } from '../api/queries.ts'
import { bytesOf } from '../components/amounts.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { NotSet } from '../components/facts.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { ScrollTable } from '../components/scroll-table.tsx'
import { Section } from '../components/section.tsx'

export function ServiceTables({ organizationId, service }: { organizationId: string; service: Service }) {
  const read = useQuery(serviceTablesQuery(organizationId, service.id))
  const tables = read.data?.result
  if (read.isPending) return <LoadingPage />
  if (!tables) return <ReadProblem error={read.error} title="The tables could not be read" />
  if (tables.length === 0) {
    return (
      <EmptyState title="No tables yet">
        Pipes create their tables, or write into tables that you have created.
      </EmptyState>
    )
  }
  const unknown = <NotSet>Not counted</NotSet>
  return (
    <Section title="Tables" about="Number of rows and size on disk, as the engine reports them.">
      {read.error && <ReadProblem error={read.error} title="This may be out of date" />}
      <ScrollTable
        caption={`Tables of the service ${service.name}`}
        items={tables}
        keyOf={({ database, table }) => JSON.stringify([database, table])}
        columns={[
          { label: 'Database', cell: ({ database }) => database },
          { label: 'Table', cell: ({ table }) => table },
          { label: 'Engine', cell: ({ engine }) => engine },
          { label: 'Rows', cell: ({ rows }) => rows?.toLocaleString('en') ?? unknown },
          { label: 'Size on disk', cell: ({ bytes }) => (bytes === null ? unknown : bytesOf(bytes)) },
        ]}
      />
    </Section>
  )
}
