import { Stack } from '@mantine/core'
import type { SourceField } from '../../src/client/shapes.ts'
import { kindOf } from '../components/pipe-fields.ts'
import { ColumnsEditor } from '../components/pipe-form/columns-editor.tsx'
import { FieldMappingsEditor } from '../components/pipe-form/field-mappings-editor.tsx'
import { Section } from '../components/section.tsx'
import type { PipePart } from './edit-pipe-form.tsx'

/** Columns and field mappings of the destination. */
export function EditPipeDestination({
  pipe,
  draft,
  edit,
  error,
  foundFields = [],
}: PipePart & { foundFields?: SourceField[] | undefined }) {
  const { columns = pipe.destination.columns, fieldMappings = pipe.fieldMappings } = draft
  const isTableless = kindOf(pipe) === 'postgres' && pipe.destination.table === undefined
  // A postgres pipe has table mappings instead: the API accepts no columns or field mappings here.
  if (isTableless && columns.length === 0 && fieldMappings.length === 0) return null
  return (
    <Section
      title="Destination"
      about="The table itself is chosen when a pipe is created. A new list replaces the old one as a whole."
    >
      <Stack gap="lg">
        <ColumnsEditor value={columns} onChange={(changed) => edit({ columns: changed })} error={error} />
        <FieldMappingsEditor
          value={fieldMappings}
          onChange={(changed) => edit({ fieldMappings: changed })}
          columnNames={columns.map(({ name }) => name)}
          fieldNames={foundFields.map(({ name }) => name)}
          error={error}
        />
      </Stack>
    </Section>
  )
}
