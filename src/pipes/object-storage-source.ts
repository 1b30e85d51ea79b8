import { mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import {
  AccessKey,
  authenticationAfter,
  bringsSecret,
  bringsValue,
  IamRole,
  mergeSecrets,
  missingSecretProblems,
  type SourceKind,
  secretsOf,
} from './pipe-source.ts'

const Authentication = Type.Enum(['IAM_ROLE', 'IAM_USER', 'CONNECTION_STRING'], {
  description: '`CONNECTION_STRING` is for `azureblobstorage`. Without authentication the objects are public.',
})
type Authentication = Static<typeof Authentication>

const AzureContainerName = Type.String({ minLength: 1, maxLength: 255, description: 'For `azureblobstorage`.' })
const Path = Type.String({ minLength: 1, maxLength: 1024, description: 'Path or glob pattern within the container.' })

const Shown = Type.Object(
  {
    type: Type.Enum(['s3', 'gcs', 'azureblobstorage', 'dospaces']),
    authentication: Type.Optional(Authentication),
    azureContainerName: Type.Optional(AzureContainerName),
    compression: Type.Enum(['auto', 'none', 'gzip', 'gz', 'brotli', 'br', 'xz', 'LZMA', 'zstd']),
    connectionString: Type.Optional(Type.String({ description: 'Its secret parts are shown as `***`.' })),
    delimiter: Type.Optional(Type.String()),
    format: Type.Enum([
      'JSONEachRow',
      'CSV',
      'CSVWithNames',
      'TabSeparated',
      'TabSeparatedWithNames',
      'Parquet',
      'Avro',
    ]),
    iamRole: Type.Optional(Type.String()),
    isContinuous: Type.Boolean(),
    path: Type.Optional(Path),
    queueUrl: Type.Optional(Type.String({ description: 'URL of a notification queue.' })),
    url: Type.Optional(Type.String({ description: 'URL or glob pattern of the objects.' })),
  },
  { $id: 'ObjectStorageSource', additionalProperties: false },
)
type Shown = Static<typeof Shown>

const Patch = Type.Object(
  {
    authentication: Type.Optional(nullable(Authentication)),
    accessKey: Type.Optional(nullable(AccessKey)),
    azureContainerName: Type.Optional(nullable(AzureContainerName)),
    connectionString: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 4096,
          secret: true,
          description: 'Its secret parts (`AccountKey=`, `SharedAccessSignature=`, `sig=`) are shown as `***`.',
        }),
      ),
    ),
    iamRole: Type.Optional(nullable(IamRole)),
    path: Type.Optional(nullable(Path)),
  },
  { $id: 'ObjectStorageSourcePatch', additionalProperties: false },
)
type Patch = Static<typeof Patch>

const mask = '***'

/** The connection string as it may be shown: without what opens the account, also where it stands in a URL. */
export function maskConnectionString(text: string): string {
  return text
    .split(';')
    .map((part) => part.replace(/^(\s*\w*(?:key|signature|secret|password|token)\s*=\s*).*$/is, `$1${mask}`))
    .join(';')
    .replace(/(\bsig\s*=\s*)[^;&]*/gi, `$1${mask}`)
    .replace(/(:\/\/)[^/@;]*@/g, `$1${mask}@`)
}

export const objectStorage: SourceKind<Shown, Patch> = {
  Shown,
  Patch,

  merge({ shown, secrets }, patch, problems) {
    const { accessKey, connectionString, ...fields } = patch
    const merged = mergePatch(shown, fields)
    let storedString = secrets.connectionString
    // Sending back the masked string that was read changes nothing; the mask itself is never stored.
    const bringsString = bringsValue(connectionString, shown.connectionString)
    if (connectionString === null) {
      storedString = undefined
      delete merged.connectionString
    } else if (bringsString) {
      const sent = connectionString!
      if (maskedParts.test(sent)) problems.push(maskedStringProblem)
      storedString = sent
      merged.connectionString = maskConnectionString(sent)
    }
    if (patch.authentication === undefined) {
      const brought: Authentication[] = []
      // A credential that this type of storage cannot use is kept, but switches nothing.
      const isAzure = shown.type === 'azureblobstorage'
      if (bringsSecret(accessKey) && !isAzure) brought.push('IAM_USER')
      if (bringsValue(patch.iamRole, shown.iamRole) && !isAzure) brought.push('IAM_ROLE')
      if (bringsString && isAzure) brought.push('CONNECTION_STRING')
      const authentication = authenticationAfter(shown.authentication, brought)
      if (authentication) merged.authentication = authentication
    }
    return {
      shown: merged,
      secrets: secretsOf({
        ...secrets,
        accessKey: mergeSecrets(secrets.accessKey, accessKey),
        connectionString: storedString,
      }),
    }
  },

  problems({ shown, secrets }) {
    const problems: FieldProblem[] = []
    const isAzure = shown.type === 'azureblobstorage'
    const because = `authentication is ${shown.authentication}`
    const need = (field: 'iamRole' | 'connectionString' | 'azureContainerName' | 'path', reason: string): void => {
      const path = `source.objectStorage.${field}`
      if (!shown[field]) problems.push({ path, detail: `${path} is required, because ${reason}` })
    }
    if (shown.authentication && (shown.authentication === 'CONNECTION_STRING') !== isAzure) {
      const path = 'source.objectStorage.authentication'
      const allowed = isAzure ? 'CONNECTION_STRING' : 'IAM_ROLE or IAM_USER'
      problems.push({ path, detail: `${path} must be ${allowed} for ${shown.type}, not "${shown.authentication}"` })
    } else if (shown.authentication === 'IAM_ROLE') need('iamRole', because)
    else if (shown.authentication === 'CONNECTION_STRING') need('connectionString', because)
    else if (shown.authentication === 'IAM_USER') {
      const needed = ['accessKeyId', 'secretKey']
      problems.push(...missingSecretProblems('source.objectStorage.accessKey', secrets.accessKey, needed, because))
    }
    if (isAzure) {
      need('azureContainerName', 'type is azureblobstorage')
      need('path', 'type is azureblobstorage')
    }
    return problems
  },
}

const maskedParts = /(?:key|signature|secret|password|token|sig)\s*=\s*\*\*\*|:\/\/\*\*\*@/i
const maskedStringProblem: FieldProblem = {
  path: 'source.objectStorage.connectionString',
  detail: `source.objectStorage.connectionString has ${mask} in place of its secret; send the whole string, or leave it out to keep the stored one`,
}
