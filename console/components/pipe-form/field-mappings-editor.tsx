import { useMemo } from 'react'
import type { FieldMapping } from '../../../src/client/shapes.ts'
import { fieldMappingFields } from '../pipe-fields.ts'
import type { FormError } from './form-error.ts'
import { type RowColumn, RowsEditor } from './rows-editor.tsx'

export const fieldMappingsPath = ['fieldMappings']

/** Choices from names, one per line. */
function choicesOf(lines: string): { value: string; label: string }[] {
  const names = [...new Set(lines.split('\n'))].filter((name) => name !== '')
  return names.map((name) => ({ value: name, label: name }))
}

/** Editor of field mappings: which source field fills which column. */
export function FieldMappingsEditor({
  value,
  onChange,
  columnNames,
  fieldNames = [],
  error,
  disabled = false,
}: {
  value: FieldMapping[]
  onChange: (mappings: FieldMapping[]) => void
  /** Destination columns, as suggestions. */
  columnNames: string[]
  /** Source fields found by a check, as suggestions. */
  fieldNames?: string[]
  error?: FormError
  disabled?: boolean
}) {
  const names = columnNames.join('\n')
  const found = fieldNames.join('\n')
  const columns = useMemo((): RowColumn[] => {
    const fieldChoices = choicesOf(found)
    return [
      {
        name: 'sourceField',
        label: fieldMappingFields.sourceField.label,
        kind: 'text',
        placeholder: 'customerId',
        ...(fieldChoices.length > 0 ? { choices: fieldChoices } : {}),
      },
      {
        name: 'destinationField',
        label: fieldMappingFields.destinationField.label,
        kind: 'text',
        placeholder: 'customer_id',
        choices: choicesOf(names),
      },
    ]
  }, [names, found])
  return (
    <RowsEditor
      label="Field mappings"
      about="Which field of the source fills which column. Columns that are not listed are filled by name."
      whenEmpty="No mapping: every column is filled by the field of the same name."
      columns={columns}
      value={value}
      onChange={onChange}
      newRow={{ sourceField: '', destinationField: '' }}
      addLabel="Add a field mapping"
      rowName="field mapping"
      error={error}
      path={fieldMappingsPath}
      disabled={disabled}
    />
  )
}
