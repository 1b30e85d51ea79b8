import { Stack, Text } from '@mantine/core'
import { Section } from '../section.tsx'
import { UseFields } from '../source-check/use-fields.tsx'
import { databaseSection, definitionSection, tableSection } from './destination-fields.ts'
import type { FormProps } from './field-input.tsx'
import { FieldSection } from './field-section.tsx'
import { shownFields } from './form-fields.ts'
import { ColumnsEditor, FieldMappingsEditor, TableMappingsEditor } from './list-editors.tsx'
import { TablesToAdd } from './pipe-check.tsx'
import { columnsOf } from './pipe-draft.ts'
import { PresentTables } from './present-tables.tsx'

/** The tables of a postgres pipe, or the one table of the others. */
export function DestinationSections(form: FormProps) {
  const { kind, pipe } = form.draft
  const isPostgres = kind === 'postgres'
  return (
    <>
      <FieldSection section={isPostgres ? databaseSection : tableSection} {...form} />
      {isPostgres && (
        <Section title="Tables">
          {pipe ? <PresentTables {...form} /> : form.found && <TablesToAdd {...form} found={form.found} />}
          <TableMappingsEditor {...form} />
        </Section>
      )}
      <ColumnsSection {...form} />
      {!isPostgres && <FieldSection section={definitionSection} {...form} />}
    </>
  )
}

function ColumnsSection(form: FormProps) {
  const { draft, edit, found } = form
  if (!shownFields(draft).some(({ pointer }) => pointer === 'destination/columns')) return null
  const fields = found?.fields ?? []
  const texts = draft.pipe
    ? {
        title: 'Destination',
        about: 'The table itself is chosen when a pipe is created. A new list replaces the old one as a whole.',
      }
    : { title: 'Columns' }
  return (
    <Section {...texts}>
      {!draft.pipe && fields.length > 0 && (
        <Stack gap="xs">
          <Text size="sm">
            The check of the source has found {fields.length === 1 ? 'one field' : `${fields.length} fields`}.
          </Text>
          <UseFields
            fields={fields}
            columns={columnsOf(draft)}
            onColumns={(columns) => edit({ 'destination/columns': columns })}
          />
        </Stack>
      )}
      <ColumnsEditor {...form} />
      <FieldMappingsEditor {...form} />
    </Section>
  )
}
