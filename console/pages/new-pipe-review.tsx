import { Code, TextInput } from '@mantine/core'
import type { PipeCreate, Service } from '../../src/client/shapes.ts'
import { Facts } from '../components/facts.tsx'
import { kinds } from '../components/pipe-fields.ts'
import { withoutSecrets } from '../components/pipe-form/create-body.ts'
import { SwitchField } from '../components/pipe-form/fields.tsx'
import { errorOf } from '../components/pipe-form/form-error.ts'
import { Section } from '../components/section.tsx'
import { CheckFirstSwitch } from '../components/source-check/check-first-switch.tsx'
import type { StepProps } from './new-pipe-step.tsx'

export function ReviewStep({
  draft,
  body,
  services,
  onChange,
  error,
}: StepProps & { body: PipeCreate; services: Service[] }) {
  const { kind, serviceId, destination, postgres } = draft
  const tables =
    kind === 'postgres' ? postgres.tableMappings.map(({ targetTable }) => targetTable) : [destination.table]
  return (
    <>
      <Section title="Name and start">
        <TextInput
          label="Name"
          description="For people; it need not be unique."
          placeholder="orders"
          required
          autoComplete="off"
          maw={420}
          value={draft.name}
          onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
          onBlur={() => onChange({ name: draft.name.trim() })}
          error={errorOf(error, 'name')}
        />
        <SwitchField
          field={{ label: 'Create it stopped', about: 'It can be started later. Otherwise it starts at once.' }}
          value={draft.startPaused}
          onChange={(startPaused) => onChange({ startPaused })}
          error={errorOf(error, 'startPaused')}
        />
        <CheckFirstSwitch
          value={draft.validateSamples}
          onChange={(validateSamples) => onChange({ validateSamples })}
          about="Penstock first connects to the source and reads a sample. If that fails, nothing is created and you see why. This takes up to 10 seconds."
          error={errorOf(error, 'source', 'validateSamples')}
        />
      </Section>
      <Section title="What will be created">
        <Facts
          facts={[
            { label: 'Service', value: services.find(({ id }) => id === serviceId)?.name ?? serviceId },
            { label: 'Kind of source', value: kind ? kinds[kind].label : '' },
            { label: 'Database', value: destination.database },
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
