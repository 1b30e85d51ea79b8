import { mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import { lastSegment } from '../lib/url-path.ts'
import { objectUrlPattern, queueUrlPattern, urlProblem } from './address.ts'
import {
  AccessKey,
  authenticationAfter,
  bringsSecret,
  bringsValue,
  connectionStringForm,
  fieldProblem,
  IamRole,
  mergeSecrets,
  missingSecretProblems,
  type PipeSource,
  type SourceKind,
} from './source-kind.ts'

const Authentication = Type.Enum(['IAM_ROLE', 'IAM_USER', 'CONNECTION_STRING'], {
  description: 'Authentication. `CONNECTION_STRING` is for `azureblobstorage`. Omit it for public objects.',
})

const AzureContainerName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'Azure container, for `azureblobstorage`.',
})
const Path = Type.String({
  minLength: 1,
  maxLength: 1024,
  description: 'Path or glob pattern of the objects in the container, for `azureblobstorage`.',
})
const ConnectionString = Type.String({
  minLength: 1,
  maxLength: 4096,
  secret: true,
  ...connectionStringForm,
  description:
    'Azure connection string: `name=value` parts, separated by `;`. Responses mask its secrets (`AccountKey=`, ' +
    '`SharedAccessSignature=`, `sig=`) and unknown parts as `***`.',
})
const Compression = Type.Enum(['auto', 'none', 'gzip', 'gz', 'brotli', 'br', 'xz', 'LZMA', 'zstd'], {
  default: 'auto',
  description: 'Compression of the objects. `auto`: detected from the extension and the first bytes.',
})
const IsContinuous = Type.Boolean({
  default: false,
  description:
    '`true`: load new objects continuously. `false`: load the existing objects, then the pipe is `Completed`.',
})

const SkipInitialLoad = Type.Boolean({
  default: false,
  description: 'Whether to skip existing objects and load only objects that the queue announces. Requires `queueUrl`.',
})

const fixed = {
  type: Type.Enum(['s3', 'gcs', 'azureblobstorage', 'dospaces'], { description: 'Object storage service.' }),
  format: Type.Enum(
    ['JSONEachRow', 'CSV', 'CSVWithNames', 'TabSeparated', 'TabSeparatedWithNames', 'Parquet', 'Avro'],
    { description: 'Format of the objects.' },
  ),
  authentication: Type.Optional(Authentication),
  azureContainerName: Type.Optional(AzureContainerName),
  delimiter: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1, description: 'Field delimiter of `CSV` and `CSVWithNames`.' }),
  ),
  iamRole: Type.Optional(IamRole),
  path: Type.Optional(Path),
  queueUrl: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2048,
      checkedPattern: queueUrlPattern,
      description:
        'URL of a queue with notifications about new objects: Amazon SQS for `s3`, Azure Queue Storage for ' +
        '`azureblobstorage`. Requires `isContinuous`. No other consumer may read the queue.',
    }),
  ),
  url: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2048,
      checkedPattern: objectUrlPattern,
      description:
        'URL or glob pattern of the objects. Required, except for `azureblobstorage`, where it is not allowed.',
    }),
  ),
}

const Shown = Type.Object(
  {
    ...fixed,
    compression: Compression,
    connectionString: Type.Optional(
      Type.String({ description: 'Azure connection string with masked secrets (`***`).' }),
    ),
    isContinuous: IsContinuous,
    skipInitialLoad: Type.Optional(
      Type.Boolean({
        description:
          'Whether existing objects are skipped and only objects that the queue announces are loaded. Absent unless it is ' +
          '`true`.',
      }),
    ),
  },
  { $id: 'ObjectStorageSource', description: 'Object storage source.', additionalProperties: false },
)
type Shown = Static<typeof Shown>
export type ObjectStorageSource = Shown

const Create = Type.Object(
  {
    ...fixed,
    accessKey: Type.Optional(AccessKey),
    compression: Type.Optional(Compression),
    connectionString: Type.Optional(ConnectionString),
    isContinuous: Type.Optional(IsContinuous),
    skipInitialLoad: Type.Optional(SkipInitialLoad),
  },
  {
    $id: 'ObjectStorageSourceCreate',
    description: 'Object storage source with its credentials.',
    additionalProperties: false,
  },
)
type Create = Static<typeof Create>

const Patch = Type.Object(
  {
    authentication: Type.Optional(nullable(Authentication)),
    accessKey: Type.Optional(nullable(AccessKey)),
    azureContainerName: Type.Optional(nullable(AzureContainerName)),
    connectionString: Type.Optional(nullable(ConnectionString)),
    iamRole: Type.Optional(nullable(IamRole)),
    path: Type.Optional(nullable(Path)),
  },
  {
    $id: 'ObjectStorageSourcePatch',
    description: 'Changes to an object storage source; `null` clears a field.',
    additionalProperties: false,
  },
)
type Patch = Static<typeof Patch>

const mask = '***'

const shownParts = /^(?:DefaultEndpointsProtocol|AccountName|EndpointSuffix|EntityPath|SharedAccessKeyName)$/i
// No characters that a parser could read as the start of another part or the end of a key.
const plainText = /^[\w./-]*$/
const plainUrl = /^([a-z]+:\/\/[\w.-]+(?::\d{1,5})?(?:\/[\w./$-]*)?)(?:\?(.*))?$/i
const shownParameter = /^(?:sv|ss|srt|sr|sp|st|se|spr)=(?:[\w:.,-]|%3A)*$/i

/** Masks the values of all parts that are not known to be free of secrets. */
export function maskConnectionString(text: string): string {
  return text.split(';').map(maskPart).join(';')
}

function maskPart(part: string): string {
  if (part === '') return part
  const [, name, value] = /^([A-Za-z]+)=(.*)$/s.exec(part) ?? []
  if (name === undefined || value === undefined) return mask
  if (/endpoint$/i.test(name)) return `${name}=${maskUrl(value)}`
  return `${name}=${shownParts.test(name) && plainText.test(value) ? value : mask}`
}

/** A URL may have a shared access signature; only its permissions and validity are shown. */
function maskUrl(url: string): string {
  const [, address, query] = plainUrl.exec(url) ?? []
  if (address === undefined) return mask
  if (query === undefined) return address
  const parameters = query.split('&').map((parameter) => {
    if (shownParameter.test(parameter)) return parameter
    return /^sig=/i.test(parameter) ? `${parameter.slice(0, 4)}${mask}` : mask
  })
  return `${address}?${parameters.join('&')}`
}

export const objectStorage: SourceKind<Shown, Create, Patch> & { reads: 'objects' } = {
  reads: 'objects',
  Shown,
  Create,
  Patch,

  // Like an update of a source without credentials: they decide the authentication when it is not sent.
  create(source, _pipeId, problems) {
    const { skipInitialLoad, ...sent } = source
    const { authentication: _, accessKey, connectionString, iamRole, ...fields } = sent
    const skipped = skipInitialLoad ? { skipInitialLoad } : {}
    const bare: Shown = { compression: 'auto', isContinuous: false, ...fields, ...skipped }
    problems.push(...locationProblems(bare), ...foreignFieldProblems(source))
    return merge({ shown: bare, secrets: {} }, sent, problems)
  },

  merge,

  problems({ shown, secrets }) {
    const { authentication, type } = shown
    const isAzure = type === 'azureblobstorage'
    const need = (field: 'iamRole' | 'connectionString' | 'azureContainerName' | 'path', because: string) =>
      shown[field] ? [] : [fieldProblem(`source.objectStorage.${field}`, `is required, because ${because}`)]
    const problems = openQueueProblems(shown)
    if (authentication && (authentication === 'CONNECTION_STRING') !== isAzure) {
      const allowed = isAzure ? 'CONNECTION_STRING' : 'IAM_ROLE or IAM_USER'
      const rest = `must be ${allowed} for ${type}, not "${authentication}"`
      problems.push(fieldProblem('source.objectStorage.authentication', rest))
    } else if (authentication === 'IAM_ROLE') problems.push(...need('iamRole', 'authentication is IAM_ROLE'))
    else if (authentication === 'IAM_USER') {
      const [path, needed] = ['source.objectStorage.accessKey', ['accessKeyId', 'secretKey']]
      problems.push(...missingSecretProblems(path, secrets.accessKey, needed, 'authentication is IAM_USER'))
    }
    if (!isAzure) return problems
    const because = `type is ${type}`
    // The connection string has the address of the account.
    const container = [...need('azureContainerName', because), ...need('connectionString', because)]
    return [...problems, ...container, ...need('path', because)]
  },

  describe({ url, azureContainerName }) {
    if (url) return `the object storage at ${url}`
    return azureContainerName && `the container ${azureContainerName}`
  },
}

function merge(
  { shown, secrets }: PipeSource<Shown>,
  { accessKey, connectionString, ...fields }: Patch,
  problems: FieldProblem[],
): PipeSource<Shown> {
  const merged = mergePatch(shown, fields)
  // Sending back the masked string changes nothing; the mask itself is never stored.
  const bringsString = bringsValue(connectionString, shown.connectionString)
  if (connectionString === null) delete merged.connectionString
  else if (bringsString) {
    if (connectionString!.includes(mask)) problems.push(maskedStringProblem)
    merged.connectionString = maskConnectionString(connectionString!)
  }
  // A credential that this type of storage cannot use is stored, but does not switch the authentication.
  const isAzure = shown.type === 'azureblobstorage'
  const authentication = authenticationAfter(shown.authentication, fields.authentication, [
    bringsSecret(accessKey) && !isAzure && 'IAM_USER',
    bringsValue(fields.iamRole, shown.iamRole) && !isAzure && 'IAM_ROLE',
    bringsString && isAzure && 'CONNECTION_STRING',
  ])
  if (authentication) merged.authentication = authentication
  const newString = connectionString === null || bringsString ? connectionString : undefined
  return { shown: merged, secrets: mergeSecrets(secrets, { accessKey, connectionString: newString }) }
}

const azureFields = ['azureContainerName', 'connectionString', 'path'] as const
const otherFields = ['accessKey', 'iamRole'] as const

/** Rejects fields that the type does not use. An update stores them (docs/reference/update-pipe.md#authentication). */
function foreignFieldProblems(source: Create): FieldProblem[] {
  const isAzure = source.type === 'azureblobstorage'
  const rest = isAzure
    ? `is not for ${source.type}, which has connectionString`
    : `is only for azureblobstorage; type is ${source.type}`
  return (isAzure ? otherFields : azureFields)
    .filter((field) => source[field] !== undefined)
    .map((field) => fieldProblem(`source.objectStorage.${field}`, rest))
}

function locationProblems({
  type,
  url,
  queueUrl,
  isContinuous,
  skipInitialLoad,
  delimiter,
  format,
}: Shown): FieldProblem[] {
  const problems: FieldProblem[] = []
  const report = (field: string, rest: string | undefined): void => {
    if (rest !== undefined) problems.push(fieldProblem(`source.objectStorage.${field}`, rest))
  }
  if (type === 'azureblobstorage') {
    if (url !== undefined) report('url', `is not for ${type}, which has azureContainerName and path`)
  } else if (url === undefined) report('url', `is required, because type is ${type}`)
  else report('url', urlProblem(url, ['http', 'https', 's3', 'gs']))
  if (queueUrl !== undefined) {
    report('queueUrl', urlProblem(queueUrl, ['http', 'https']) ?? queueProblem(queueUrl, type))
    if (!isContinuous) report('queueUrl', 'is only for a pipe with isContinuous')
    if (type === 'gcs' || type === 'dospaces') {
      report('queueUrl', `is only for s3 and azureblobstorage: ${type} has no queue that Penstock can read`)
    }
  } else if (skipInitialLoad) {
    report('skipInitialLoad', 'is only for a pipe with queueUrl: without a queue, nothing reports new objects')
  }
  if (delimiter !== undefined && !format.startsWith('CSV')) {
    report('delimiter', `is only for the formats CSV and CSVWithNames; format is ${format}`)
  }
  return problems
}

/** Objects may be public, but a queue always needs credentials. Azure needs a connection string anyway. */
function openQueueProblems({ type, queueUrl, authentication }: Shown): FieldProblem[] {
  if (queueUrl === undefined || authentication !== undefined || type === 'azureblobstorage') return []
  const rest = 'is required, because a queue cannot be read without credentials; send accessKey or iamRole'
  return [fieldProblem('source.objectStorage.authentication', rest)]
}

/** The queue is the last part of the path. */
function queueProblem(queueUrl: string, type: Shown['type']): string | undefined {
  if (/^[\w.-]{1,128}$/.test(lastSegment(new URL(queueUrl).pathname))) return undefined
  const example =
    type === 'azureblobstorage'
      ? 'https://account.queue.core.windows.net/queue'
      : 'https://sqs.eu-west-1.amazonaws.com/123456789012/queue'
  return `names no queue; write it as ${example}`
}

const maskedStringProblem = fieldProblem(
  'source.objectStorage.connectionString',
  `has ${mask} in place of its secret; send the whole string, or leave it out to keep the stored one`,
)
