// Checks the source in the form, and offers its fields or tables for the destination.
import { Alert, List, Stack, Text } from '@mantine/core'
import type { SchemaDiscovery } from '../../../src/client/shapes.ts'
import type { SourceCheck } from '../../api/source-check.ts'
import { CheckSection } from '../source-check/check-section.tsx'
import { FoundTables, MappedTables } from '../source-check/found-tables.tsx'
import { FieldsAndSample } from '../source-check/sample-table.tsx'
import { asSentence } from '../source-check/source-failure.ts'
import { UseFields } from '../source-check/use-fields.tsx'
import type { FormProps } from './field-input.tsx'
import { addedTables, addedTablesPointer, columnsOf } from './pipe-draft.ts'
import { mappedTables, withTable } from './table-mapping.ts'

type Found = FormProps & { found: SchemaDiscovery }

export function PipeCheck({ check, reason, ...form }: FormProps & { check: SourceCheck; reason: string | undefined }) {
  const { draft, found } = form
  return (
    <CheckSection
      check={check}
      reason={reason}
      about={
        draft.pipe
          ? 'Connects to the source with your changes and with the stored secrets, and shows a sample. Nothing is changed.'
          : 'Connects to the source and shows a sample. Nothing is stored.'
      }
    >
      {found &&
        (draft.kind === 'postgres' ? (
          <>
            <TablesToAdd {...form} found={found} />
            <MappedTables tables={found.tables} mapped={mappedTables(draft)} />
          </>
        ) : (
          <FieldsFound {...form} found={found} isOutdated={check.isFitOutdated === true} />
        ))}
    </CheckSection>
  )
}

/** Also shown next to the mappings of a new pipe. */
export function TablesToAdd({ draft, edit, found }: Found) {
  const mapped = mappedTables(draft)
  return (
    <FoundTables
      tables={found.availableTables}
      mapped={mapped}
      onAdd={(table) => edit({ [addedTablesPointer(draft)]: withTable(addedTables(draft), table, mapped) })}
    />
  )
}

function FieldsFound({ draft, edit, found, isOutdated }: Found & { isOutdated: boolean }) {
  const { fields, rows, misfits } = found
  return (
    <>
      <Misfits misfits={misfits} isOutdated={isOutdated} />
      {fields.length === 0 ? (
        <Text size="sm">There are no records yet, so there are no fields to show.</Text>
      ) : (
        <FieldsAndSample fieldsTitle="Fields" fields={fields} rows={rows} rowName="record" />
      )}
      <UseFields
        fields={fields}
        columns={columnsOf(draft)}
        onColumns={(columns) => edit({ 'destination/columns': columns })}
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
