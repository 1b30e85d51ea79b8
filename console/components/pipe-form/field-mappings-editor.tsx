import { useMemo } from 'react'
import type { FieldMapping } from '../../../src/client/shapes.ts'
import { fieldMappingFields } from '../pipe-fields.ts'
import { type FormError, type RowColumn, RowsEditor } from './inputs.tsx'

export const fieldMappingsPath = ['fieldMappings']

/** Which field of the source fills which column, where their names differ. */
export function FieldMappingsEditor({
  value,
  onChange,
  columnNames,
  error,
  disabled = false,
}: {
  value: FieldMapping[]
  onChange: (mappings: FieldMapping[]) => void
  /** The columns of the destination, which are suggested. */
  columnNames: string[]
  error?: FormError
  disabled?: boolean
}) {
  const names = columnNames.join('\n')
  const columns = useMemo((): RowColumn[] => {
    const suggested = [...new Set(names.split('\n'))].filter((name) => name !== '')
    return [
      { name: 'sourceField', label: fieldMappingFields.sourceField.label, kind: 'text', placeholder: 'customerId' },
      {
        name: 'destinationField',
        label: fieldMappingFields.destinationField.label,
        kind: 'text',
        placeholder: 'customer_id',
        choices: suggested.map((name) => ({ value: name, label: name })),
      },
    ]
  }, [names])
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
