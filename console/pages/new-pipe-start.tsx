import { Group, Radio, Select, SimpleGrid, Text } from '@mantine/core'
import type { Service } from '../../src/client/shapes.ts'
import { kindNames, kinds, type PipeKind } from '../components/pipe-fields.ts'
import { errorOf, type FormError } from '../components/pipe-form/form-error.ts'
import type { PipeDraft } from '../components/pipe-form/pipe-draft.ts'
import { Section } from '../components/section.tsx'

export function StartStep({
  draft,
  onChange,
  error,
  services,
}: {
  draft: PipeDraft
  onChange: (changed: Partial<PipeDraft>) => void
  error: FormError
  services: Service[]
}) {
  return (
    <>
      <Section title="Service" about="The ClickHouse engine whose tables the pipe fills.">
        <Select
          label="Service"
          placeholder="Choose a service"
          required
          data={services.map(({ id, name }) => ({ value: id, label: name }))}
          value={draft.serviceId || null}
          onChange={(serviceId) => onChange({ serviceId: serviceId ?? '' })}
          allowDeselect={false}
          searchable={services.length > 8}
          maw={420}
        />
      </Section>
      <Section title="Kind of source" about="Where the data comes from. It cannot be changed later.">
        <Radio.Group
          aria-label="Kind of source"
          value={draft.kind ?? ''}
          onChange={(kind) => onChange({ kind: kind as PipeKind })}
          error={errorOf(error, 'source')}
        >
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {kindNames.map((kind) => (
              <Radio.Card key={kind} value={kind} p="md" className="kind-card">
                <Group wrap="nowrap" align="flex-start" gap="sm">
                  <Radio.Indicator mt={2} />
                  <div>
                    <Text fw={600}>{kinds[kind].label}</Text>
                    <Text size="sm" c="dimmed">
                      {kinds[kind].about}
                    </Text>
                  </div>
                </Group>
              </Radio.Card>
            ))}
          </SimpleGrid>
        </Radio.Group>
      </Section>
    </>
  )
}
