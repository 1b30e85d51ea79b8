import { Box, Code } from '@mantine/core'
import type { PipeCreate, Service } from '../../src/client/shapes.ts'
import { Facts } from '../components/facts.tsx'
import { kinds } from '../components/pipe-fields.ts'
import { withoutSecrets } from '../components/pipe-form/body.ts'
import { FieldInput, type FormProps } from '../components/pipe-form/field-input.tsx'
import { errorOf } from '../components/pipe-form/form-error.ts'
import { checkPointer, nameField, startPausedField } from '../components/pipe-form/form-fields.ts'
import { addedTables, isOn } from '../components/pipe-form/pipe-draft.ts'
import { Section } from '../components/section.tsx'
import { CheckFirstSwitch } from '../components/source-check/check-first-switch.tsx'

export function ReviewStep({ body, services, ...form }: FormProps & { body: PipeCreate; services: Service[] }) {
  const { draft, edit, error } = form
  const { kind, serviceId } = draft
  const tables =
    kind === 'postgres' ? addedTables(draft).map(({ targetTable }) => targetTable) : [body.destination.table]
  return (
    <>
      <Section title="Name and start">
        <Box maw={420}>
          <FieldInput
            field={{ ...nameField, about: 'For people; it need not be unique.', placeholder: 'orders' }}
            form={form}
          />
        </Box>
        <FieldInput field={startPausedField} form={form} />
        <CheckFirstSwitch
          value={isOn(draft, checkPointer)}
          onChange={(isChecked) => edit({ [checkPointer]: isChecked })}
          about="Penstock first connects to the source and reads a sample. If that fails, nothing is created and you see why. This takes up to 10 seconds."
          error={errorOf(error, checkPointer)}
        />
      </Section>
      <Section title="What will be created">
        <Facts
          facts={[
            { label: 'Service', value: services.find(({ id }) => id === serviceId)?.name ?? serviceId },
            { label: 'Kind of source', value: kind ? kinds[kind].label : '' },
            { label: 'Database', value: body.destination.database },
            { label: tables.length === 1 ? 'Table' : 'Tables', value: tables.join(', ') },
          ]}
        />
      </Section>
      <Section
        title="What will be sent"
        about="The body of the request. Dots stand for secrets, which are sent as you entered them. Omitted fields have their defaults."
      >
        <Code block tabIndex={0} mah={420} style={{ overflow: 'auto' }} aria-label="Body of the request" role="region">
          {JSON.stringify(withoutSecrets(body), null, 2)}
        </Code>
      </Section>
    </>
  )
}
