import { SimpleGrid } from '@mantine/core'
import { choiceTexts, kafkaFields, offsetFields, schemaRegistryFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { kafkaSecretNames } from './create-body.ts'
import type { KafkaDraft } from './create-draft.ts'
import { ChoiceField, DateTimeField, More, type PartProps, TextField } from './fields.tsx'
import { errorOf, pointersBelow } from './form-error.ts'
import { SecretFields } from './secret-fields.tsx'
import { PemInput } from './secret-input.tsx'
import { TextListInput } from './text-list-input.tsx'

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
            <DateTimeField
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
  return (
    <Section title="Authentication" about="Credentials are stored sealed and never shown again.">
      <ChoiceField
        field={kafkaFields.authentication}
        value={value.authentication}
        onChange={(authentication) => onChange({ authentication })}
        error={errorOf(error, ...path, 'authentication')}
        choices={choiceTexts.kafkaAuthentication}
      />
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
      <SecretFields
        names={names}
        value={value.credentials}
        onChange={(changed) => onChange({ credentials: { ...value.credentials, ...changed } })}
        error={error}
        path={[...path, 'credentials']}
        // Either a connection string or user name and password are required.
        required={!names.includes('connectionString')}
      />
    </Section>
  )
}

function SchemaRegistry({ value, onChange, error }: PartProps<KafkaDraft>) {
  const errorAt = (name: string) => errorOf(error, ...registryPath, name)
  return (
    <>
      <TextField
        field={schemaRegistryFields.url}
        value={value.registryUrl}
        onChange={(registryUrl) => onChange({ registryUrl })}
        error={errorAt('url') ?? errorOf(error, ...registryPath)}
        required={value.format === 'AvroConfluent'}
        placeholder="https://registry.example.com:8081"
      />
      <ChoiceField
        field={schemaRegistryFields.authentication}
        value={value.registryAuthentication}
        onChange={(registryAuthentication) => onChange({ registryAuthentication })}
        error={errorAt('authentication')}
        choices={{ none: 'None', PLAIN: 'User name and password' }}
      />
      {value.registryAuthentication === 'PLAIN' && (
        <SecretFields
          names={['username', 'password']}
          labelPrefix="Registry"
          value={value.registryCredentials}
          onChange={(changed) => onChange({ registryCredentials: { ...value.registryCredentials, ...changed } })}
          error={error}
          path={[...registryPath, 'credentials']}
          required
        />
      )}
      <PemInput
        label={schemaRegistryFields.caCertificate.label}
        about={schemaRegistryFields.caCertificate.about}
        value={value.registryCaCertificate}
        onChange={(registryCaCertificate) => onChange({ registryCaCertificate })}
        error={errorAt('caCertificate')}
      />
    </>
  )
}
