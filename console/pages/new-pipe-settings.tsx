import { EditedValue, type Fields, FieldTable } from '../components/field-table.tsx'
import { scalingFields, settingFields } from '../components/pipe-fields.ts'
import { settingMatters } from '../components/pipe-form/create-body.ts'
import type { PipeDraft } from '../components/pipe-form/create-draft.ts'
import { errorOf, type FormError } from '../components/pipe-form/form-error.ts'
import { Section } from '../components/section.tsx'
import type { StepProps } from './new-pipe-step.tsx'

export function SettingsStep({ draft, onChange, error }: StepProps) {
  const fields = Object.entries<Fields[string]>(settingFields).filter(([name]) => settingMatters(name, draft.kind))
  return (
    <>
      <Section
        title="Settings"
        about={`How the pipe reads and inserts. Only what differs from the default is sent, and all can be changed later.`}
      >
        <EditedFields
          part="settings"
          fields={Object.fromEntries(fields)}
          value={draft.settings}
          onChange={(settings) => onChange({ settings })}
          error={error}
        />
      </Section>
      <Section title="Scaling" about="How much the pipe may use. Can be changed later too.">
        <EditedFields
          part="scaling"
          fields={scalingFields}
          value={draft.scaling}
          onChange={(scaling) => onChange({ scaling })}
          error={error}
        />
      </Section>
    </>
  )
}

function EditedFields({
  part,
  fields,
  value,
  onChange,
  error,
}: {
  part: 'settings' | 'scaling'
  fields: Fields
  value: PipeDraft['settings']
  onChange: (value: PipeDraft['settings']) => void
  error: FormError
}) {
  const isChanged = (name: string): boolean => (value[name] ?? fields[name]!.default) !== fields[name]!.default
  return (
    <FieldTable
      caption={part === 'settings' ? 'Settings' : 'Scaling'}
      fields={fields}
      isChanged={isChanged}
      cell={(name, field) => (
        <EditedValue
          name={name}
          field={field}
          value={value[name] ?? null}
          error={errorOf(error, part, name)}
          onChange={(entered) => onChange({ ...value, [name]: entered })}
        />
      )}
    />
  )
}
