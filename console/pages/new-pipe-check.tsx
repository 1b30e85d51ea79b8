import { Text } from '@mantine/core'
import type { SourceCheck } from '../api/source-check.ts'
import type { PipeDraft } from '../components/pipe-form/create-draft.ts'
import type { TableName } from '../components/pipe-form/pipe-draft.ts'
import { missingIn } from '../components/pipe-form/steps.ts'
import { withTable } from '../components/pipe-form/table-mapping.ts'
import { CheckSection } from '../components/source-check/check-section.tsx'
import { FoundTables, MappedTables } from '../components/source-check/found-tables.tsx'
import { FieldsAndSample } from '../components/source-check/sample-table.tsx'
import { UseFields } from '../components/source-check/use-fields.tsx'

export interface CheckProps {
  check: SourceCheck
  draft: PipeDraft
  onChange: (changed: Partial<PipeDraft>) => void
}

/** Checks the source in the form and offers its fields or tables for the destination. */
export function NewPipeCheck({ isAdmin, ...props }: CheckProps & { isAdmin: boolean }) {
  const missing = missingIn('source', props.draft)
  const reason = !isAdmin
    ? 'Only admins can check a connection.'
    : missing.length > 0
      ? `Still needed: ${missing.join(', ')}.`
      : undefined
  return (
    <CheckSection
      check={props.check}
      reason={reason}
      about="Connects to the source and shows a sample. Nothing is stored."
    >
      {props.draft.kind === 'postgres' ? <TablesFound {...props} /> : <FieldsFound {...props} />}
    </CheckSection>
  )
}

function FieldsFound({ check, draft, onChange }: CheckProps) {
  const { fields, rows } = check.found!
  if (fields.length === 0) {
    return <Text size="sm">There are no records yet, so there are no fields to show.</Text>
  }
  return (
    <>
      <FieldsAndSample fieldsTitle="Fields" fields={fields} rows={rows} rowName="record" />
      <UseFields
        fields={fields}
        columns={draft.destination.columns}
        onColumns={(columns) => onChange({ destination: { ...draft.destination, columns } })}
      />
    </>
  )
}

function TablesFound(props: CheckProps) {
  const { check, draft } = props
  return (
    <>
      <TablesToAdd {...props} />
      <MappedTables tables={check.found!.tables} mapped={draft.postgres.tableMappings} />
    </>
  )
}

/** Also shown next to the mappings, in the next step. */
export function TablesToAdd({ check, draft, onChange }: CheckProps) {
  const { postgres } = draft
  const add = (table: TableName): void =>
    onChange({ postgres: { ...postgres, tableMappings: withTable(postgres.tableMappings, table) } })
  return <FoundTables tables={check.found!.availableTables} mapped={postgres.tableMappings} onAdd={add} />
}
