import { Code, Stack, Text } from '@mantine/core'
import type { KafkaSource, KinesisSource, ObjectStorageSource, Pipe } from '../../src/client/shapes.ts'
import { choiceTexts } from '../components/choice-texts.ts'
import { type Fact, Facts, NotSet } from '../components/facts.tsx'
import {
  type FieldText,
  kafkaFields,
  kinds,
  kinesisFields,
  objectStorageFields,
  schemaRegistryFields,
} from '../components/pipe-fields.ts'
import { Section } from '../components/section.tsx'
import { fact, secret, yesNo } from './pipe-source-facts.tsx'
import { Postgres } from './pipe-source-postgres.tsx'

export function PipeSource({ pipe: { id, source } }: { pipe: Pipe }) {
  const { kafka, kinesis, objectStorage, postgres } = source
  if (kafka) return <Kafka source={kafka} />
  if (kinesis) return <Kinesis source={kinesis} />
  if (objectStorage) return <ObjectStorage source={objectStorage} />
  return postgres && <Postgres pipeId={id} source={postgres} />
}

const listed = (text: string): Fact['value'] => <Lines lines={text.split(',')} />

function Lines({ lines }: { lines: string[] }) {
  return (
    <Stack gap={2}>
      {lines.map((line) => (
        <Text size="sm" key={line}>
          {line}
        </Text>
      ))}
    </Stack>
  )
}

function Pem({ text, label }: { text: string; label: string }) {
  return (
    <Code block tabIndex={0} mah={130} style={{ overflow: 'auto' }} role="region" aria-label={label}>
      {text}
    </Code>
  )
}

const pem = (field: FieldText, text: string | undefined): Fact =>
  fact(field, text && <Pem text={text} label={field.label} />)

function kafkaSecret({ authentication, type }: KafkaSource): Fact[] {
  switch (authentication) {
    case 'IAM_ROLE':
      return []
    case 'IAM_USER':
      return [secret('Access key')]
    case 'MUTUAL_TLS':
      return [secret('Client certificate and private key')]
    default:
      return [
        secret(type === 'azureeventhub' ? 'Connection string, or user name and password' : 'User name and password'),
      ]
  }
}

function Kafka({ source }: { source: KafkaSource }) {
  const { schemaRegistry, offset, reversePrivateEndpointIds } = source
  const begin =
    offset &&
    (offset.strategy === 'from_timestamp'
      ? `At ${offset.timestamp?.replace('T', ' ')} UTC`
      : choiceTexts.offsetStrategy[offset.strategy])
  return (
    <Stack gap="lg">
      <Section title={kinds.kafka.label}>
        <Facts
          facts={[
            fact({ label: kafkaFields.type.label }, choiceTexts.kafkaType[source.type]),
            fact({ label: kafkaFields.brokers.label }, listed(source.brokers)),
            fact({ label: kafkaFields.topics.label }, listed(source.topics)),
            fact({ label: kafkaFields.format.label }, choiceTexts.format[source.format]),
            fact({ label: kafkaFields.consumerGroup.label }, source.consumerGroup),
            fact(kafkaFields.offset, begin),
            fact(
              kafkaFields.reversePrivateEndpointIds,
              reversePrivateEndpointIds?.length ? <Lines lines={reversePrivateEndpointIds} /> : undefined,
            ),
          ]}
        />
      </Section>
      <Section title="Authentication">
        <Facts
          facts={[
            fact({ label: kafkaFields.authentication.label }, choiceTexts.kafkaAuthentication[source.authentication]),
            ...kafkaSecret(source),
            fact(kafkaFields.iamRole, source.iamRole),
            pem({ label: kafkaFields.caCertificate.label }, source.caCertificate),
          ]}
        />
      </Section>
      <Section title={kafkaFields.schemaRegistry.label}>
        {schemaRegistry ? (
          <Facts
            facts={[
              fact({ label: schemaRegistryFields.url.label }, schemaRegistry.url),
              fact(
                { label: schemaRegistryFields.authentication.label },
                schemaRegistry.authentication
                  ? choiceTexts.kafkaAuthentication[schemaRegistry.authentication]
                  : 'None: the registry needs no authentication',
              ),
              ...(schemaRegistry.authentication ? [secret('User name and password')] : []),
              pem({ label: schemaRegistryFields.caCertificate.label }, schemaRegistry.caCertificate),
            ]}
          />
        ) : (
          <Text size="sm" c="dimmed">
            The pipe uses no schema registry.
          </Text>
        )}
      </Section>
    </Stack>
  )
}

function Kinesis({ source }: { source: KinesisSource }) {
  const begin =
    source.iteratorType === 'AT_TIMESTAMP' && source.timestamp !== undefined
      ? `At ${utc(source.timestamp)}`
      : choiceTexts.iteratorType[source.iteratorType]
  return (
    <Stack gap="lg">
      <Section title={kinds.kinesis.label}>
        <Facts
          facts={[
            fact(kinesisFields.streamName, source.streamName),
            fact({ label: kinesisFields.region.label }, source.region),
            fact(kinesisFields.format, choiceTexts.format[source.format]),
            fact(kinesisFields.iteratorType, begin),
            fact(kinesisFields.useEnhancedFanOut, yesNo(source.useEnhancedFanOut)),
          ]}
        />
      </Section>
      <Section title="Authentication">
        <Facts
          facts={[
            fact({ label: kinesisFields.authentication.label }, choiceTexts.kafkaAuthentication[source.authentication]),
            ...(source.authentication === 'IAM_USER' ? [secret('Access key')] : []),
            fact(kinesisFields.iamRole, source.iamRole),
          ]}
        />
      </Section>
    </Stack>
  )
}

function utc(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

function queueFacts({ isContinuous, queueUrl, skipInitialLoad }: ObjectStorageSource): Fact[] {
  if (!isContinuous) return []
  if (queueUrl === undefined)
    return [
      fact({ label: objectStorageFields.queueUrl.label }, <NotSet>None: the bucket is listed periodically</NotSet>),
    ]
  return [
    fact({ label: objectStorageFields.queueUrl.label, about: 'Notifies this pipe of new objects.' }, queueUrl),
    fact(objectStorageFields.skipInitialLoad, yesNo(skipInitialLoad !== true)),
  ]
}

function ObjectStorage({ source }: { source: ObjectStorageSource }) {
  const { authentication } = source
  const isAzure = source.type === 'azureblobstorage'
  /** Shows a field that the type does not use only if it has a value. */
  const ifUsed = (isUsed: boolean, field: FieldText, text: string | undefined): Fact[] =>
    isUsed || text !== undefined ? [fact(field, text)] : []
  return (
    <Stack gap="lg">
      <Section title={kinds.objectStorage.label}>
        <Facts
          facts={[
            fact(objectStorageFields.type, choiceTexts.objectStorageType[source.type]),
            ...ifUsed(!isAzure, objectStorageFields.url, source.url),
            ...ifUsed(isAzure, objectStorageFields.azureContainerName, source.azureContainerName),
            ...ifUsed(isAzure, objectStorageFields.path, source.path),
            fact(objectStorageFields.format, choiceTexts.format[source.format]),
            fact(objectStorageFields.delimiter, source.delimiter && <Code>{source.delimiter}</Code>),
            fact(objectStorageFields.compression, choiceTexts.compression[source.compression]),
            fact(objectStorageFields.isContinuous, yesNo(source.isContinuous)),
            ...queueFacts(source),
          ]}
        />
      </Section>
      <Section title="Authentication">
        <Facts
          facts={[
            fact(
              { label: objectStorageFields.authentication.label },
              authentication ? choiceTexts.objectStorageAuthentication[authentication] : 'None: the objects are public',
            ),
            ...(authentication === 'IAM_USER' ? [secret('Access key')] : []),
            ...ifUsed(!isAzure, objectStorageFields.iamRole, source.iamRole),
            ...ifUsed(isAzure, objectStorageFields.connectionString, source.connectionString),
          ]}
        />
      </Section>
    </Stack>
  )
}
