import { Code, SimpleGrid, Text } from '@mantine/core'
import { EditedValue } from '../components/field-table.tsx'
import { settingFields } from '../components/pipe-fields.ts'
import { errorOf } from '../components/pipe-form/form-error.ts'
import { Section } from '../components/section.tsx'
import type { PipePart } from './edit-pipe-form.tsx'

type SettingName = keyof typeof settingFields

/** Settings of the pipe. An empty number is the default. */
export function EditPipeSettings({ pipe, draft, edit, error }: PipePart) {
  const { settings = {} } = draft
  return (
    <Section title="Settings" about={`How the pipe reads and inserts. An empty number is the default.`}>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg" verticalSpacing="lg">
        {(Object.keys(settingFields) as SettingName[]).map((name) => {
          const typed = settings[name]
          return (
            <div key={name} className="edit-pipe-setting">
              <div>
                <Text size="sm" fw={600}>
                  {settingFields[name].label}
                </Text>
                <Text size="xs" c="dimmed">
                  {settingFields[name].about}
                </Text>
                <Code fz="xs" className="wrapping-code">
                  {name}
                </Code>
              </div>
              <EditedValue
                name={name}
                field={settingFields[name]}
                value={typed === undefined ? pipe.settings[name] : typed}
                error={errorOf(error, 'settings', name)}
                onChange={(value) => edit({ settings: { ...settings, [name]: value } })}
              />
            </div>
          )
        })}
      </SimpleGrid>
    </Section>
  )
}
