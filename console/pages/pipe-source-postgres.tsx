import { Code, Stack } from '@mantine/core'
import type { PostgresSource, TableMapping } from '../../src/client/shapes.ts'
import { choiceTexts } from '../components/choice-texts.ts'
import { Facts, NotSet } from '../components/facts.tsx'
import { kinds, postgresFields, postgresSettingFields, tableMappingFields } from '../components/pipe-fields.ts'
import { ownReplicationName } from '../components/replication-name.ts'
import { ScrollTable } from '../components/scroll-table.tsx'
import { Section } from '../components/section.tsx'
import { fact, secret, yesNo } from './pipe-source-facts.tsx'

interface PostgresProps {
  pipeId: string
  source: PostgresSource
}

export function Postgres({ pipeId, source: { host, port, database, settings, tableMappings } }: PostgresProps) {
  const numbers = [
    'pullBatchSize',
    'syncIntervalSeconds',
    'initialLoadParallelism',
    'snapshotNumberOfParallelTables',
    'snapshotNumRowsPerPartition',
  ] as const
  return (
    <Stack gap="lg">
      <Section title={kinds.postgres.label}>
        <Facts
          facts={[
            fact(postgresFields.host, host),
            fact(postgresFields.port, String(port)),
            fact({ label: postgresFields.database.label }, database),
            secret('User name and password'),
          ]}
        />
      </Section>
      <Section title={postgresFields.settings.label}>
        <Facts
          facts={[
            fact(postgresSettingFields.replicationMode, choiceTexts.replicationMode[settings.replicationMode]),
            {
              label: postgresSettingFields.publicationName.label,
              value: <Named pipeId={pipeId} settings={settings} name={settings.publicationName} />,
            },
            {
              label: postgresSettingFields.replicationSlotName.label,
              value: <Named pipeId={pipeId} settings={settings} name={settings.replicationSlotName} />,
            },
            fact({ label: postgresSettingFields.enableFailoverSlots.label }, yesNo(settings.enableFailoverSlots)),
            fact(postgresSettingFields.allowNullableColumns, yesNo(settings.allowNullableColumns)),
            ...numbers.map((name) => fact(postgresSettingFields[name], settings[name].toLocaleString('en'))),
          ]}
        />
      </Section>
      <Section
        title={postgresFields.tableMappings.label}
        about={`Which table of PostgreSQL goes to which table of the service: ${tableMappings.length.toLocaleString('en')}.`}
      >
        <TableMappings mappings={tableMappings} />
      </Section>
    </Stack>
  )
}

/** Name of a publication or replication slot: the configured one, or the one that Penstock creates. */
function Named({
  pipeId,
  settings: { replicationMode },
  name,
}: Pick<PostgresProps, 'pipeId'> & Pick<PostgresSource, 'settings'> & { name: string | undefined }) {
  if (name !== undefined) return <Code>{name}</Code>
  if (replicationMode === 'snapshot') return <NotSet>None: the tables are loaded once</NotSet>
  return (
    <>
      <Code>{ownReplicationName(pipeId)}</Code> <NotSet>Created by Penstock</NotSet>
    </>
  )
}

function TableMappings({ mappings }: { mappings: TableMapping[] }) {
  return (
    <ScrollTable
      caption="Tables of the pipe"
      items={mappings}
      keyOf={({ sourceSchemaName, sourceTable }) => JSON.stringify([sourceSchemaName, sourceTable])}
      minWidth={760}
      columns={[
        {
          label: tableMappingFields.sourceTable.label,
          cell: ({ sourceSchemaName, sourceTable }) => `${sourceSchemaName}.${sourceTable}`,
        },
        { label: tableMappingFields.targetTable.label, cell: ({ targetTable }) => targetTable },
        { label: tableMappingFields.tableEngine.label, cell: ({ tableEngine }) => tableEngine },
        {
          label: tableMappingFields.sortingKeys.label,
          cell: ({ useCustomSortingKey, sortingKeys }) =>
            useCustomSortingKey ? sortingKeys.join(', ') : <NotSet>As in PostgreSQL</NotSet>,
        },
        {
          label: tableMappingFields.excludedColumns.label,
          cell: ({ excludedColumns }) =>
            excludedColumns.length > 0 ? excludedColumns.join(', ') : <NotSet>None</NotSet>,
        },
      ]}
    />
  )
}
