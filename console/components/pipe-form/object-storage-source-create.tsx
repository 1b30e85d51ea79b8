import { SimpleGrid } from '@mantine/core'
import { choiceTexts, objectStorageFields, secretFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { CloudCredentials } from './cloud-credentials.tsx'
import { hasQueue, mayHaveQueue } from './create-body.ts'
import type { ObjectStorageDraft } from './create-draft.ts'
import { ChoiceField, More, type PartProps, SwitchField, TextField } from './fields.tsx'
import { errorOf } from './form-error.ts'
import { SecretInput } from './secret-input.tsx'

const { JSONEachRow, CSV, CSVWithNames, TabSeparated, TabSeparatedWithNames, Parquet, Avro } = choiceTexts.format
const formats = { JSONEachRow, CSV, CSVWithNames, TabSeparated, TabSeparatedWithNames, Parquet, Avro }
const { IAM_ROLE, IAM_USER } = choiceTexts.objectStorageAuthentication
const path = ['source', 'objectStorage']

const exampleUrls: Record<ObjectStorageDraft['type'], string> = {
  s3: 'https://orders.s3.eu-west-1.amazonaws.com/2026/*.json',
  gcs: 'https://storage.googleapis.com/orders/2026/*.json',
  dospaces: 'https://orders.fra1.digitaloceanspaces.com/2026/*.json',
  azureblobstorage: '',
}

export function ObjectStorageSourceCreate({ value, onChange: change, error }: PartProps<ObjectStorageDraft>) {
  const errorAt = (name: string) => errorOf(error, ...path, name)
  // A queue requires credentials.
  const onChange: typeof change = (changed) => {
    const next = { ...value, ...changed }
    const isLeftOpen = next.authentication === 'none' && hasQueue(next)
    change(isLeftOpen ? { ...changed, authentication: 'IAM_ROLE' } : changed)
  }
  const isAzure = value.type === 'azureblobstorage'
  return (
    <>
      <Section title="Where the files are">
        <ChoiceField
          field={objectStorageFields.type}
          value={value.type}
          onChange={(type) => onChange({ type })}
          error={errorAt('type')}
          choices={choiceTexts.objectStorageType}
        />
        {isAzure ? (
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextField
              field={{ ...objectStorageFields.azureContainerName, about: 'Container of the storage account.' }}
              value={value.azureContainerName}
              onChange={(azureContainerName) => onChange({ azureContainerName })}
              error={errorAt('azureContainerName')}
              required
              placeholder="orders"
            />
            <TextField
              field={objectStorageFields.path}
              value={value.path}
              onChange={(path) => onChange({ path })}
              error={errorAt('path')}
              required
              placeholder="2026/*.json"
            />
          </SimpleGrid>
        ) : (
          <TextField
            field={objectStorageFields.url}
            value={value.url}
            onChange={(url) => onChange({ url })}
            error={errorAt('url')}
            required
            placeholder={exampleUrls[value.type]}
          />
        )}
      </Section>
      <Section title="Authentication" about="Credentials are stored sealed and never shown again.">
        {isAzure ? (
          <SecretInput
            label={secretFields.connectionString.label}
            about="Of the storage account: name=value parts, separated by semicolons."
            value={value.connectionString}
            onChange={(connectionString) => onChange({ connectionString })}
            error={errorAt('connectionString') ?? errorAt('authentication')}
            required
          />
        ) : (
          <>
            <ChoiceField
              field={objectStorageFields.authentication}
              value={value.authentication}
              onChange={(authentication) => onChange({ authentication })}
              error={errorAt('authentication')}
              choices={{ IAM_ROLE, IAM_USER, ...(hasQueue(value) ? {} : { none: 'None (public objects)' }) }}
            />
            <CloudCredentials value={value} onChange={onChange} error={error} path={path} />
          </>
        )}
      </Section>
      <Section title="What is read">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <ChoiceField
            field={objectStorageFields.format}
            value={value.format}
            onChange={(format) => onChange({ format })}
            error={errorAt('format')}
            choices={formats}
          />
          {value.format.startsWith('CSV') && (
            <TextField
              field={{ ...objectStorageFields.delimiter, about: undefined }}
              value={value.delimiter}
              onChange={(delimiter) => onChange({ delimiter })}
              error={errorAt('delimiter')}
              placeholder=","
              isExact
            />
          )}
        </SimpleGrid>
        <SwitchField
          field={objectStorageFields.isContinuous}
          value={value.isContinuous}
          onChange={(isContinuous) => onChange({ isContinuous })}
          error={errorAt('isContinuous')}
        />
        {mayHaveQueue(value) && <Queue value={value} onChange={onChange} error={error} />}
        <More label="More about the source" hasError={errorAt('compression') !== undefined}>
          <ChoiceField
            field={objectStorageFields.compression}
            value={value.compression}
            onChange={(compression) => onChange({ compression })}
            error={errorAt('compression')}
            choices={choiceTexts.compression}
          />
        </More>
      </Section>
    </>
  )
}

const queues = {
  s3: {
    about:
      'An SQS queue for this pipe only, which the bucket notifies of new objects. If empty, the bucket is listed periodically.',
    placeholder: 'https://sqs.eu-west-1.amazonaws.com/123456789012/orders',
  },
  azureblobstorage: {
    about:
      'A storage queue for this pipe only, which Event Grid notifies of new blobs. If empty, the container is listed periodically.',
    placeholder: 'https://northwind.queue.core.windows.net/orders',
  },
}

function Queue({ value, onChange, error }: PartProps<ObjectStorageDraft>) {
  const { about, placeholder } = queues[value.type === 'azureblobstorage' ? value.type : 's3']
  return (
    <>
      <TextField
        field={{ ...objectStorageFields.queueUrl, about }}
        value={value.queueUrl}
        onChange={(queueUrl) => onChange({ queueUrl })}
        error={errorOf(error, ...path, 'queueUrl')}
        placeholder={placeholder}
      />
      {value.queueUrl !== '' && (
        <SwitchField
          field={objectStorageFields.skipInitialLoad}
          value={!value.skipInitialLoad}
          onChange={(isLoadedFirst) => onChange({ skipInitialLoad: !isLoadedFirst })}
          error={errorOf(error, ...path, 'skipInitialLoad')}
        />
      )}
    </>
  )
}
