import { SimpleGrid } from '@mantine/core'
import { choiceTexts, kinesisFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { CloudCredentials } from './cloud-credentials.tsx'
import type { KinesisDraft } from './create-draft.ts'
import { ChoiceField, DateTimeField, More, type PartProps, SwitchField, TextField } from './fields.tsx'
import { errorOf } from './form-error.ts'

// A Kinesis source has no schema registry, which Confluent Avro needs.
const { JSONEachRow, Avro } = choiceTexts.format
const { IAM_ROLE, IAM_USER } = choiceTexts.kafkaAuthentication
const path = ['source', 'kinesis']

export function KinesisSourceCreate({ value, onChange, error }: PartProps<KinesisDraft>) {
  const errorAt = (name: string) => errorOf(error, ...path, name)
  return (
    <>
      <Section title="Where the records are">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextField
            field={kinesisFields.region}
            value={value.region}
            onChange={(region) => onChange({ region })}
            error={errorAt('region')}
            required
            placeholder="eu-west-1"
          />
          <TextField
            field={{ ...kinesisFields.streamName, about: 'Name of the data stream.' }}
            value={value.streamName}
            onChange={(streamName) => onChange({ streamName })}
            error={errorAt('streamName')}
            required
            placeholder="orders"
          />
        </SimpleGrid>
      </Section>
      <Section title="Authentication" about="Credentials are stored sealed and never shown again.">
        <ChoiceField
          field={kinesisFields.authentication}
          value={value.authentication}
          onChange={(authentication) => onChange({ authentication })}
          error={errorAt('authentication')}
          choices={{ IAM_ROLE, IAM_USER }}
        />
        <CloudCredentials value={value} onChange={onChange} error={error} path={path} />
      </Section>
      <Section title="What is read">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <ChoiceField
            field={kinesisFields.format}
            value={value.format}
            onChange={(format) => onChange({ format })}
            error={errorAt('format')}
            choices={{ JSONEachRow, Avro }}
          />
          <ChoiceField
            field={kinesisFields.iteratorType}
            value={value.iteratorType}
            onChange={(iteratorType) => onChange({ iteratorType })}
            error={errorAt('iteratorType')}
            choices={choiceTexts.iteratorType}
          />
          {value.iteratorType === 'AT_TIMESTAMP' && (
            <DateTimeField
              field={kinesisFields.timestamp}
              value={value.timestamp}
              onChange={(timestamp) => onChange({ timestamp })}
              error={errorAt('timestamp')}
            />
          )}
        </SimpleGrid>
        <More label="More about the source" hasError={errorAt('useEnhancedFanOut') !== undefined}>
          <SwitchField
            field={kinesisFields.useEnhancedFanOut}
            value={value.useEnhancedFanOut}
            onChange={(useEnhancedFanOut) => onChange({ useEnhancedFanOut })}
            error={errorAt('useEnhancedFanOut')}
          />
        </More>
      </Section>
    </>
  )
}
