import type { Column } from '../../../src/client/shapes.ts'
import { columnFields, destinationFields } from '../pipe-fields.ts'
import type { FormError } from './form-error.ts'
import { type RowColumn, RowsEditor } from './rows-editor.tsx'

const columns: RowColumn[] = [
  { name: 'name', label: columnFields.name.label, kind: 'text', placeholder: 'id' },
  { name: 'type', label: columnFields.type.label, kind: 'text', placeholder: 'UInt64' },
]

export const columnsPath = ['destination', 'columns']

/** Editor of the destination columns. */
export function ColumnsEditor({
  value,
  onChange,
  error,
  disabled = false,
}: {
  value: Column[]
  onChange: (columns: Column[]) => void
  error?: FormError
  disabled?: boolean
}) {
  return (
    <RowsEditor
      label={destinationFields.columns.label}
      about={`${destinationFields.columns.about} A type is one of the engine, such as UInt64 or Nullable(String).`}
      whenEmpty="No column yet. The table needs at least one."
      columns={columns}
      value={value}
      onChange={onChange}
      newRow={{ name: '', type: '' }}
      addLabel="Add a column"
      rowName="column"
      error={error}
      path={columnsPath}
      disabled={disabled}
    />
  )
}
