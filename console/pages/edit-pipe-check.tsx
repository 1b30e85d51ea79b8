import { Alert, List, Stack, Text } from '@mantine/core'
import type { SourceCheck } from '../api/source-check.ts'
import { kindOf } from '../components/pipe-fields.ts'
import { mappedTables, mappingFor } from '../components/pipe-form/table-mapping.ts'
import { CheckSection } from '../components/source-check/check-section.tsx'
import { FoundTables, MappedTables } from '../components/source-check/found-tables.tsx'
import { FieldsAndSample } from '../components/source-check/sample-table.tsx'
import { asSentence } from '../components/source-check/source-failure.ts'
import { UseFields } from '../components/source-check/use-fields.tsx'
import type { PipePart } from './edit-pipe-form.tsx'

type CheckPart = PipePart & { check: SourceCheck }

/** Checks the source of the pipe with the changes of the form and its stored secrets. */
export function EditPipeCheck({ reason, ...part }: CheckPart & { reason: string | undefined }) {
  return (
    <CheckSection
      check={part.check}
      reason={reason}
      about="Connects to the source with your changes and with the stored secrets, and shows a sample. Nothing is changed."
    >
      {kindOf(part.pipe) === 'postgres' ? <TablesFound {...part} /> : <FieldsFound {...part} />}
    </CheckSection>
  )
}

function FieldsFound({ pipe, draft, edit, check }: CheckPart) {
  const { fields, rows, misfits } = check.found!
  return (
    <>
      <Misfits misfits={misfits} isOutdated={check.isFitOutdated === true} />
      {fields.length === 0 ? (
        <Text size="sm">There are no records yet, so there are no fields to show.</Text>
      ) : (
        <FieldsAndSample fieldsTitle="Fields" fields={fields} rows={rows} rowName="record" />
      )}
      <UseFields
        fields={fields}
        columns={draft.columns ?? pipe.destination.columns}
        onColumns={(columns) => edit({ columns })}
      />
    </>
  )
}

function Misfits({ misfits, isOutdated }: { misfits: string[]; isOutdated: boolean }) {
  if (misfits.length === 0) return null
  return (
    <Alert color="orange" variant="light" title="The records do not match the table" role="alert">
      <Stack gap="xs" style={{ overflowWrap: 'anywhere' }}>
        <List size="sm" spacing={4}>
          {misfits.map((misfit) => (
            <List.Item key={misfit}>{asSentence(misfit)}</List.Item>
          ))}
        </List>
        <Text size="sm">
          {isOutdated
            ? 'Columns or field mappings were changed since. Check again to see whether they match now.'
            : 'Change the columns or the field mappings, or what the source sends.'}
        </Text>
      </Stack>
    </Alert>
  )
}

function TablesFound({ pipe, draft, edit, check }: CheckPart) {
  const { tables, availableTables } = check.found!
  const typed = draft.source ?? {}
  const { addedTables = [] } = typed
  const mapped = mappedTables(pipe.source.postgres!.tableMappings, typed)
  return (
    <>
      <FoundTables
        tables={availableTables}
        mapped={mapped}
        onAdd={(table) => edit({ source: { ...typed, addedTables: [...addedTables, mappingFor(table, mapped)] } })}
      />
      <MappedTables tables={tables} mapped={mapped} />
    </>
  )
}
