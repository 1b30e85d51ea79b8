import { Code, Stack, Text } from '@mantine/core'
import type { Pipe, Service, TableDefinition } from '../../src/client/shapes.ts'
import { Facts, NotSet } from '../components/facts.tsx'
import { PageLink } from '../components/page-link.tsx'
import {
  columnFields,
  destinationFields,
  fieldMappingFields,
  tableDefinitionFields,
  tableEngineFields,
  tableMappingFields,
} from '../components/pipe-fields.ts'
import { ScrollTable } from '../components/scroll-table.tsx'
import { Section } from '../components/section.tsx'

export function PipeDestination({
  organizationId,
  pipe,
  service,
}: {
  organizationId: string
  pipe: Pipe
  service: Service
}) {
  const { database, table, managedTable, tableDefinition, columns } = pipe.destination
  const tableMappings = pipe.source.postgres?.tableMappings
  const filledFrom = new Map(
    pipe.fieldMappings.map(({ destinationField, sourceField }) => [destinationField, sourceField]),
  )
  return (
    <Stack gap="lg">
      <Section title="Where the data goes">
        <Facts
          facts={[
            {
              label: 'Service',
              value: (
                <PageLink
                  to="/o/$organizationId/services/$serviceId"
                  params={{ organizationId, serviceId: service.id }}
                  size="sm"
                >
                  {service.name}
                </PageLink>
              ),
            },
            { label: destinationFields.database.label, value: database },
            ...(tableMappings
              ? []
              : [
                  { label: destinationFields.table.label, value: table ?? <NotSet /> },
                  {
                    label: destinationFields.managedTable.label,
                    value:
                      managedTable === false
                        ? 'No: the table is yours, and Penstock only writes to it'
                        : 'Yes: Penstock creates and extends the table',
                  },
                ]),
          ]}
        />
      </Section>
      {tableMappings ? (
        <Section
          title="Tables"
          about={`The tables of the service that the pipe fills: ${tableMappings.length.toLocaleString('en')}. Which table of PostgreSQL each comes from is under Source.`}
        >
          <ScrollTable
            caption="Tables that the pipe fills"
            items={tableMappings}
            keyOf={({ targetTable }) => targetTable}
            columns={[
              { label: tableMappingFields.targetTable.label, cell: ({ targetTable }) => `${database}.${targetTable}` },
              { label: tableMappingFields.tableEngine.label, cell: ({ tableEngine }) => tableEngine },
              {
                label: tableMappingFields.sortingKeys.label,
                cell: ({ useCustomSortingKey, sortingKeys }) =>
                  useCustomSortingKey ? sortingKeys.join(', ') : <NotSet>As in PostgreSQL</NotSet>,
              },
            ]}
          />
        </Section>
      ) : (
        <>
          <Section
            title={destinationFields.columns.label}
            about={`All columns of the table: ${columns.length.toLocaleString('en')}.`}
          >
            <ScrollTable
              caption="Columns of the table"
              minWidth={480}
              items={columns}
              keyOf={({ name }) => name}
              columns={[
                { label: columnFields.name.label, cell: ({ name }) => name },
                { label: columnFields.type.label, cell: ({ type }) => <Code>{type}</Code> },
                {
                  label: 'Filled from',
                  cell: ({ name }) => filledFrom.get(name) ?? <NotSet>The field of the same name</NotSet>,
                },
              ]}
            />
          </Section>
          {tableDefinition && <Definition definition={tableDefinition} />}
          <FieldMappings mappings={pipe.fieldMappings} />
        </>
      )}
    </Stack>
  )
}

function Definition({
  definition: { engine, partitionBy, primaryKey, sortingKey = [] },
}: {
  definition: TableDefinition
}) {
  const expression = (text: string | undefined) => (text === undefined ? <NotSet /> : <Code>{text}</Code>)
  const names = (list: string[]) => (list.length === 0 ? <NotSet /> : list.join(', '))
  return (
    <Section title={destinationFields.tableDefinition.label} about="How Penstock creates the table.">
      <Facts
        facts={[
          { label: tableDefinitionFields.engine.label, value: engine.type },
          ...(engine.versionColumnId === undefined
            ? []
            : [{ ...tableEngineFields.versionColumnId, value: engine.versionColumnId }]),
          ...(engine.columnIds?.length ? [{ ...tableEngineFields.columnIds, value: names(engine.columnIds) }] : []),
          { ...tableDefinitionFields.partitionBy, value: expression(partitionBy) },
          { ...tableDefinitionFields.primaryKey, value: expression(primaryKey) },
          { ...tableDefinitionFields.sortingKey, value: names(sortingKey) },
        ]}
      />
    </Section>
  )
}

function FieldMappings({ mappings }: { mappings: Pipe['fieldMappings'] }) {
  return (
    <Section title="Field mappings" about="Columns that are not mapped are filled from the field of the same name.">
      {mappings.length === 0 ? (
        <Text size="sm" c="dimmed">
          No field is mapped: every column is filled by name.
        </Text>
      ) : (
        <ScrollTable
          caption="Field mappings"
          items={mappings}
          keyOf={({ destinationField }) => destinationField}
          columns={[
            { label: fieldMappingFields.sourceField.label, cell: ({ sourceField }) => sourceField },
            { label: fieldMappingFields.destinationField.label, cell: ({ destinationField }) => destinationField },
          ]}
        />
      )}
    </Section>
  )
}
