import { SimpleGrid } from '@mantine/core'
import { choiceTexts, postgresFields, postgresSettingFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { postgresSettingDefaults } from './create-body.ts'
import type { PostgresDraft } from './create-draft.ts'
import { ChoiceField, More, NumberField, type PartProps, SwitchField, TextField } from './fields.tsx'
import { errorOf, pointersBelow } from './form-error.ts'
import { SecretFields } from './secret-fields.tsx'

const path = ['source', 'postgres']
const numberNames = [
  'syncIntervalSeconds',
  'pullBatchSize',
  'initialLoadParallelism',
  'snapshotNumberOfParallelTables',
  'snapshotNumRowsPerPartition',
] as const
const switchNames = ['allowNullableColumns', 'enableFailoverSlots'] as const

/** Source fields of a postgres pipe, without the tables, which are in the destination step. */
export function PostgresSourceCreate({ value, onChange, error }: PartProps<PostgresDraft>) {
  const errorAt = (...names: string[]) => errorOf(error, ...path, ...names)
  const { settings } = value
  const change = (changed: PostgresDraft['settings']) => onChange({ settings: { ...settings, ...changed } })
  const replicationMode = settings.replicationMode ?? 'cdc'
  const otherSettingErrors = pointersBelow(error, ...path, 'settings').filter(
    (pointer) => !pointer.endsWith('replicationMode'),
  )
  return (
    <>
      <Section title="Where the tables are">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextField
            field={{ ...postgresFields.host, about: 'Host name or IP address.' }}
            value={value.host}
            onChange={(host) => onChange({ host })}
            error={errorAt('host')}
            required
            placeholder="postgres.example.com"
          />
          <NumberField
            field={postgresFields.port}
            value={value.port}
            onChange={(port) => onChange({ port })}
            error={errorAt('port')}
            defaultValue={5432}
          />
          <TextField
            field={postgresFields.database}
            value={value.database}
            onChange={(database) => onChange({ database })}
            error={errorAt('database')}
            required
            placeholder="shop"
          />
        </SimpleGrid>
      </Section>
      <Section title="Authentication" about="Credentials are stored sealed and never shown again.">
        <SecretFields
          names={['username', 'password']}
          value={value.credentials}
          onChange={(changed) => onChange({ credentials: { ...value.credentials, ...changed } })}
          error={error}
          path={[...path, 'credentials']}
          required
        />
      </Section>
      <Section title="Replication">
        <ChoiceField
          field={postgresSettingFields.replicationMode}
          value={replicationMode}
          onChange={(mode) => change({ replicationMode: mode })}
          error={errorAt('settings', 'replicationMode')}
          choices={choiceTexts.replicationMode}
        />
        <More label="More about the replication" hasError={otherSettingErrors.length > 0}>
          <TextField
            field={postgresSettingFields.publicationName}
            value={settings.publicationName ?? ''}
            onChange={(publicationName) => change({ publicationName })}
            error={errorAt('settings', 'publicationName')}
          />
          {(replicationMode === 'cdc_only' || settings.replicationSlotName) && (
            <TextField
              field={postgresSettingFields.replicationSlotName}
              value={settings.replicationSlotName ?? ''}
              onChange={(replicationSlotName) => change({ replicationSlotName })}
              error={errorAt('settings', 'replicationSlotName')}
            />
          )}
          {switchNames.map((name) => (
            <SwitchField
              key={name}
              field={postgresSettingFields[name]}
              value={settings[name] ?? false}
              onChange={(isOn) => change({ [name]: isOn })}
              error={errorAt('settings', name)}
            />
          ))}
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {numberNames.map((name) => (
              <NumberField
                key={name}
                field={postgresSettingFields[name]}
                value={settings[name] ?? null}
                onChange={(number) => change({ [name]: number })}
                error={errorAt('settings', name)}
                defaultValue={postgresSettingDefaults[name].default}
              />
            ))}
          </SimpleGrid>
        </More>
      </Section>
    </>
  )
}
