import { Group, NumberInput, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { postgresFields, postgresSettingFields } from '../components/pipe-fields.ts'
import { errorOf } from '../components/pipe-form/form-error.ts'
import { postgresNumberDefaults } from '../components/pipe-form/pipe-draft.ts'
import { EditPipeSecrets } from './edit-pipe-secrets.tsx'
import type { SourcePart } from './edit-pipe-source.tsx'
import { EditPipeTables } from './edit-pipe-tables.tsx'

export function EditPipePostgres(part: SourcePart) {
  const { pipe, typed, editSource, error } = part
  const present = pipe.source.postgres!
  const path = ['source', 'postgres']
  const text = (name: 'host' | 'database') => (
    <TextInput
      label={postgresFields[name].label}
      value={typed[name] ?? present[name]}
      onChange={({ currentTarget: { value } }) => editSource({ [name]: value })}
      error={errorOf(error, ...path, name)}
      autoComplete="off"
      spellCheck={false}
      flex={name === 'host' ? '2 1 180px' : undefined}
    />
  )
  const number = (name: keyof typeof postgresNumberDefaults) => {
    const value = typed[name] === undefined ? present.settings[name] : typed[name]
    return (
      <NumberInput
        label={postgresSettingFields[name].label}
        description={`${postgresSettingFields[name].about} Default: ${postgresNumberDefaults[name].toLocaleString('en')}.`}
        value={value ?? ''}
        placeholder={String(postgresNumberDefaults[name])}
        onChange={(entered) => editSource({ [name]: entered === '' ? null : Number(entered) })}
        error={errorOf(error, ...path, 'settings', name)}
        allowDecimal={false}
        allowNegative={false}
        clampBehavior="none"
      />
    )
  }
  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-start">
        {text('host')}
        <NumberInput
          label={postgresFields.port.label}
          value={(typed.port === undefined ? present.port : typed.port) ?? ''}
          onChange={(entered) => editSource({ port: entered === '' ? null : Number(entered) })}
          error={errorOf(error, ...path, 'port')}
          hideControls
          allowDecimal={false}
          allowNegative={false}
          clampBehavior="none"
          flex="1 1 90px"
        />
      </Group>
      {text('database')}
      <EditPipeSecrets {...part} />
      <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
        {number('pullBatchSize')}
        {number('syncIntervalSeconds')}
      </SimpleGrid>
      <EditPipeTables {...part} />
    </Stack>
  )
}
