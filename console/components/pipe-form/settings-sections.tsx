import { EditedValue, type Fields, FieldTable } from '../field-table.tsx'
import { scalingFields, settingFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import type { FormProps } from './field-input.tsx'
import { errorOf } from './form-error.ts'
import { shownFields } from './form-fields.ts'
import { isOn, numberOf, presentValue, type Value } from './pipe-draft.ts'

/** Settings, and the scaling of a new pipe. */
export function SettingsSections(form: FormProps) {
  const isNew = !form.draft.pipe
  return (
    <>
      <Section
        title="Settings"
        about={
          isNew
            ? 'How the pipe reads and inserts. Only what differs from the default is sent, and all can be changed later.'
            : 'How the pipe reads and inserts. An empty number is the default.'
        }
      >
        <EditedFields {...form} part="settings" texts={settingFields} />
      </Section>
      {isNew && (
        <Section title="Scaling" about="How much the pipe may use. Can be changed later too.">
          <EditedFields {...form} part="scaling" texts={scalingFields} />
        </Section>
      )}
    </>
  )
}

function EditedFields({
  draft,
  edit,
  error,
  part,
  texts,
}: FormProps & { part: 'settings' | 'scaling'; texts: Fields }) {
  const shown = new Set(shownFields(draft).map(({ pointer }) => pointer))
  const fields = Object.fromEntries(Object.entries(texts).filter(([name]) => shown.has(`${part}/${name}`)))
  const shownValue = (name: string) => {
    const pointer = `${part}/${name}`
    return typeof texts[name]!.default === 'number' ? numberOf(draft, pointer) : isOn(draft, pointer)
  }
  const isChanged = (name: string): boolean =>
    (shownValue(name) ?? texts[name]!.default) !== (presentValue(draft, `${part}/${name}`) as Value)
  return (
    <FieldTable
      caption={part === 'settings' ? 'Settings' : 'Scaling'}
      fields={fields}
      isChanged={isChanged}
      cell={(name, field) => (
        <EditedValue
          name={name}
          field={field}
          value={shownValue(name)}
          error={errorOf(error, part, name)}
          onChange={(entered) => edit({ [`${part}/${name}`]: entered })}
        />
      )}
    />
  )
}
