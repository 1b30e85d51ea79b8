import { SimpleGrid } from '@mantine/core'
import {
  choiceTexts,
  type FieldText,
  kafkaFields,
  offsetFields,
  schemaRegistryFields,
  secretFields,
} from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { type KafkaDraft, kafkaSecretNames } from './create-body.ts'
import { ChoiceField, MomentField, More, type PartProps, secretError, TextField } from './fields.tsx'
import { errorOf, PemInput, pointersBelow, SecretInput, TextListInput } from './inputs.tsx'

const { JSONEachRow, Avro, AvroConfluent, Protobuf } = choiceTexts.format
const formats = { JSONEachRow, Avro, AvroConfluent, Protobuf }
const path = ['source', 'kafka']
const registryPath = [...path, 'schemaRegistry']

export function KafkaSourceCreate({ value, onChange, error }: PartProps<KafkaDraft>) {
  const errorAt = (...names: string[]) => errorOf(error, ...path, ...names)
  const isRegistryNeeded = value.format === 'AvroConfluent'
  const rareFields = ['consumerGroup', 'caCertificate', 'reversePrivateEndpointIds']
  if (!isRegistryNeeded) rareFields.push('schemaRegistry')
  return (
    <>
      <Section title="Where the messages are">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <ChoiceField
            field={kafkaFields.type}
            value={value.type}
            onChange={(type) => onChange({ type })}
            error={errorAt('type')}
            choices={choiceTexts.kafkaType}
          />
        </SimpleGrid>
        <TextField
          field={kafkaFields.brokers}
          value={value.brokers}
          onChange={(brokers) => onChange({ brokers })}
          error={errorAt('brokers')}
          required
          placeholder="broker-1.example.com:9092,broker-2.example.com:9092"
        />
        <TextField
          field={kafkaFields.topics}
          value={value.topics}
          onChange={(topics) => onChange({ topics })}
          error={errorAt('topics')}
          required
          placeholder="orders"
        />
      </Section>
      <KafkaAuthentication value={value} onChange={onChange} error={error} />
      <Section title="What is read">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <ChoiceField
            field={kafkaFields.format}
            value={value.format}
            onChange={(format) => onChange({ format })}
            error={errorAt('format')}
            choices={formats}
          />
          <ChoiceField
            field={{ ...offsetFields.strategy, about: 'When the pipe is started for the first time.' }}
            value={value.offsetStrategy}
            onChange={(offsetStrategy) => onChange({ offsetStrategy })}
            error={errorAt('offset', 'strategy') ?? errorAt('offset')}
            choices={choiceTexts.offsetStrategy}
          />
          {value.offsetStrategy === 'from_timestamp' && (
            <MomentField
              field={offsetFields.timestamp}
              value={value.offsetTimestamp}
              onChange={(offsetTimestamp) => onChange({ offsetTimestamp })}
              error={errorAt('offset', 'timestamp')}
            />
          )}
        </SimpleGrid>
        {isRegistryNeeded && <SchemaRegistry value={value} onChange={onChange} error={error} />}
        <More
          label="More about the source"
          hasError={rareFields.some((name) => pointersBelow(error, ...path, name).length > 0)}
        >
          <TextField
            field={kafkaFields.consumerGroup}
            value={value.consumerGroup}
            onChange={(consumerGroup) => onChange({ consumerGroup })}
            error={errorAt('consumerGroup')}
          />
          <PemInput
            label={kafkaFields.caCertificate.label}
            about={kafkaFields.caCertificate.about}
            value={value.caCertificate}
            onChange={(caCertificate) => onChange({ caCertificate })}
            error={errorAt('caCertificate')}
          />
          <TextListInput
            label={kafkaFields.reversePrivateEndpointIds.label}
            about={`${kafkaFields.reversePrivateEndpointIds.about} Their ids, each ended with Enter.`}
            value={value.reversePrivateEndpointIds}
            onChange={(reversePrivateEndpointIds) => onChange({ reversePrivateEndpointIds })}
            error={error}
            path={[...path, 'reversePrivateEndpointIds']}
          />
          {!isRegistryNeeded && <SchemaRegistry value={value} onChange={onChange} error={error} />}
        </More>
      </Section>
    </>
  )
}

function KafkaAuthentication({ value, onChange, error }: PartProps<KafkaDraft>) {
  const names = kafkaSecretNames(value)
  const groupPath = [...path, 'credentials']
  // A connection string stands for user name and password, so that neither is needed by itself.
  const isEither = names.includes('connectionString')
  return (
    <Section title="Authentication" about="Credentials are stored sealed and never shown again.">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <ChoiceField
          field={kafkaFields.authentication}
          value={value.authentication}
          onChange={(authentication) => onChange({ authentication })}
          error={errorOf(error, ...path, 'authentication')}
          choices={choiceTexts.kafkaAuthentication}
        />
      </SimpleGrid>
      {value.authentication === 'IAM_ROLE' && (
        <TextField
          field={kafkaFields.iamRole}
          value={value.iamRole}
          onChange={(iamRole) => onChange({ iamRole })}
          error={errorOf(error, ...path, 'iamRole')}
          required
          placeholder="arn:aws:iam::123456789012:role/penstock"
        />
      )}
      {isEither && <KafkaSecret name="connectionString" />}
      <SimpleGrid cols={{ base: 1, sm: value.authentication === 'MUTUAL_TLS' ? 1 : 2 }}>
        {names
          .filter((name) => name !== 'connectionString')
          .map((name) => (
            <KafkaSecret key={name} name={name} />
          ))}
      </SimpleGrid>
    </Section>
  )

  function KafkaSecret({ name }: { name: keyof KafkaDraft['credentials'] }) {
    return null
  }
}
