// The source fields that an update can change, by kind.
import { Select, Stack, Text, TextInput } from '@mantine/core'
import {
  choiceTexts,
  type FieldText,
  kafkaFields,
  kindOf,
  kinds,
  kinesisFields,
  objectStorageFields,
  type PipeKind,
} from '../components/pipe-fields.ts'
import { errorOf } from '../components/pipe-form/form-error.ts'
import { chosenAuthentication, type SourceDraft } from '../components/pipe-form/pipe-draft.ts'
import { PemInput } from '../components/pipe-form/secret-input.tsx'
import { TextListInput } from '../components/pipe-form/text-list-input.tsx'
import { Section } from '../components/section.tsx'
import type { PipePart } from './edit-pipe-form.tsx'
import { EditPipePostgres } from './edit-pipe-postgres.tsx'
import { EditPipeSecrets, ForgetSecrets } from './edit-pipe-secrets.tsx'

export interface SourcePart extends PipePart {
  kind: PipeKind
  typed: SourceDraft
  editSource: (change: SourceDraft) => void
}

const fixedParts: Record<PipeKind, string> = {
  kafka: 'Provider, brokers, topics, format, consumer group, where reading begins and schema registry',
  kinesis: 'Stream, region, format, where reading begins and enhanced fan-out',
  objectStorage: 'Provider, URL, format, compression, whether it is continuous, and queue',
  postgres: 'Replication mode, publication and slot',
}

export function EditPipeSource(part: PipePart) {
  const { pipe, draft, edit } = part
  const kind = kindOf(pipe)
  const typed = draft.source ?? {}
  const source: SourcePart = {
    ...part,
    kind,
    typed,
    editSource: (change) => edit({ source: { ...typed, ...change } }),
  }
  return (
    <Section
      title={`Source: ${kinds[kind].label}`}
      about={`${fixedParts[kind]} are chosen when a pipe is created and cannot be changed.`}
    >
      {kind === 'kafka' && <Kafka {...source} />}
      {kind === 'kinesis' && <Kinesis {...source} />}
      {kind === 'objectStorage' && <ObjectStorage {...source} />}
      {kind === 'postgres' && <EditPipePostgres {...source} />}
    </Section>
  )
}

function Kafka(part: SourcePart) {
  const { pipe, typed, editSource, error } = part
  const present = pipe.source.kafka!
  const { caCertificate = present.caCertificate ?? '', reversePrivateEndpointIds } = typed
  return (
    <Stack gap="md">
      <Authentication {...part} field={kafkaFields.authentication} choices={choiceTexts.kafkaAuthentication} />
      <EditPipeSecrets {...part} />
      <ClearableText {...part} name="iamRole" field={kafkaFields.iamRole} present={present.iamRole} />
      <ForgetSecrets {...part} />
      <PemInput
        label={kafkaFields.caCertificate.label}
        about={`${kafkaFields.caCertificate.about} Empty: none.`}
        value={caCertificate}
        onChange={(text) => editSource({ caCertificate: text })}
        error={errorOf(error, 'source', 'kafka', 'caCertificate')}
      />
      <TextListInput
        label={kafkaFields.reversePrivateEndpointIds.label}
        about={kafkaFields.reversePrivateEndpointIds.about}
        value={reversePrivateEndpointIds ?? present.reversePrivateEndpointIds ?? []}
        onChange={(ids) => editSource({ reversePrivateEndpointIds: ids })}
        error={error}
        path={['source', 'kafka', 'reversePrivateEndpointIds']}
      />
    </Stack>
  )
}

function Kinesis(part: SourcePart) {
  const present = part.pipe.source.kinesis!
  const { IAM_ROLE, IAM_USER } = choiceTexts.kafkaAuthentication
  return (
    <Stack gap="md">
      <Authentication {...part} field={kinesisFields.authentication} choices={{ IAM_ROLE, IAM_USER }} />
      <EditPipeSecrets {...part} />
      <ClearableText {...part} name="iamRole" field={kinesisFields.iamRole} present={present.iamRole} />
      <ForgetSecrets {...part} />
    </Stack>
  )
}

function ObjectStorage(part: SourcePart) {
  const present = part.pipe.source.objectStorage!
  const isAzure = present.type === 'azureblobstorage'
  const { IAM_ROLE, IAM_USER, CONNECTION_STRING } = choiceTexts.objectStorageAuthentication
  const choices = {
    ...(isAzure ? { CONNECTION_STRING } : { IAM_ROLE, IAM_USER }),
    ...(present.authentication
      ? { [present.authentication]: choiceTexts.objectStorageAuthentication[present.authentication] }
      : {}),
    // A queue requires credentials.
    ...(present.queueUrl === undefined || !present.authentication ? { '': 'None: the objects are public' } : {}),
  }
  const provider = choiceTexts.objectStorageType[present.type]
  const ofAzure = ['azureContainerName', 'path'] as const
  const ofOthers = ['iamRole'] as const
  const texts = (names: readonly ('azureContainerName' | 'path' | 'iamRole')[]) =>
    names.map((name) => (
      <ClearableText key={name} {...part} name={name} field={objectStorageFields[name]} present={present[name]} />
    ))
  const unused = (isAzure ? ofOthers : ofAzure).filter((name) => present[name] !== undefined)
  return (
    <Stack gap="md">
      <Authentication {...part} field={objectStorageFields.authentication} choices={choices} />
      <EditPipeSecrets {...part} />
      {texts(isAzure ? ofAzure : ofOthers)}
      {unused.length > 0 && (
        <Text size="sm" c="dimmed">
          {provider} does not use what follows. It is kept with the pipe, and can be cleared.
        </Text>
      )}
      {texts(unused)}
      <ForgetSecrets {...part} />
    </Stack>
  )
}

function Authentication({
  pipe,
  draft,
  kind,
  editSource,
  error,
  field,
  choices,
}: SourcePart & { field: FieldText; choices: Record<string, string> }) {
  return (
    <Select
      label={field.label}
      description={field.about}
      data={Object.entries(choices).map(([value, label]) => ({ value, label }))}
      value={chosenAuthentication(pipe, draft)}
      allowDeselect={false}
      onChange={(authentication) => editSource({ authentication: authentication ?? '' })}
      error={errorOf(error, 'source', kind, 'authentication')}
    />
  )
}

/** An optional text. */
function ClearableText({
  kind,
  typed,
  editSource,
  error,
  name,
  field,
  present = '',
}: SourcePart & { name: 'iamRole' | 'azureContainerName' | 'path'; field: FieldText; present: string | undefined }) {
  return (
    <TextInput
      label={field.label}
      description={field.about}
      value={typed[name] ?? present}
      onChange={({ currentTarget: { value } }) => editSource({ [name]: value })}
      error={errorOf(error, 'source', kind, name)}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
