// Builds the merge patch from the changed fields of the pipe form.
import type {
  Column,
  FieldMapping,
  KafkaSourcePatch,
  KinesisSourcePatch,
  ObjectStorageSourcePatch,
  Pipe,
  PipePatch,
  PipeSettings,
  PipeSettingsPatch,
  PostgresSourcePatch,
  TableMapping,
  TableMappingToAdd,
} from '../../../src/client/shapes.ts'
import { kindOf, settingFields } from '../pipe-fields.ts'
import {
  chosenAuthentication,
  forgettableSecrets,
  isSameTable,
  neededSecrets,
  type PipeDraft,
  postgresNumberDefaults,
  type SecretGroup,
  type SourceDraft,
  type TableName,
} from './pipe-draft.ts'

/** Changes to the pipe, if any. */
export function patchOf(pipe: Pipe, draft: PipeDraft): PipePatch | undefined {
  const name = draft.name?.trim()
  const source = sourcePatchOf(pipe, draft)
  const columns = draft.columns && columnsOf(draft.columns)
  const fieldMappings = draft.fieldMappings && mappingsOf(draft.fieldMappings)
  const settings = settingsPatchOf(pipe, draft)
  const patch: PipePatch = {
    ...(name !== undefined && name !== pipe.name ? { name } : {}),
    ...(source ? { source } : {}),
    ...(columns && differs(columns, columnsOf(pipe.destination.columns)) ? { destination: { columns } } : {}),
    ...(fieldMappings && differs(fieldMappings, mappingsOf(pipe.fieldMappings)) ? { fieldMappings } : {}),
    ...(settings ? { settings } : {}),
  }
  return somethingOf(patch)
}

/** Adds the request to check the source before the change. */
export function withCheck(patch: PipePatch): PipePatch {
  return { ...patch, source: { ...patch.source, validateSamples: true } }
}

/** Columns with a fixed field order, so that lists can be compared. */
const columnsOf = (columns: Column[]): Column[] => columns.map(({ name, type }) => ({ name, type }))

const mappingsOf = (mappings: FieldMapping[]): FieldMapping[] =>
  mappings.map(({ sourceField, destinationField }) => ({ sourceField, destinationField }))

export function differs(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}

function somethingOf<Part extends object>(part: Part): Part | undefined {
  return Object.keys(part).length > 0 ? part : undefined
}

function settingsPatchOf({ settings }: Pipe, draft: PipeDraft): PipeSettingsPatch | undefined {
  const changed = Object.entries(draft.settings ?? {}).filter(([name, value]) => {
    const field = name as keyof PipeSettings
    return (value ?? settingFields[field].default) !== settings[field]
  })
  return somethingOf(Object.fromEntries(changed) as PipeSettingsPatch)
}

function sourcePatchOf(pipe: Pipe, draft: PipeDraft): PipePatch['source'] | undefined {
  if (!draft.source) return undefined
  const kind = kindOf(pipe)
  const patch = kind === 'postgres' ? postgresPatchOf(pipe, draft) : authenticatedPatchOf(pipe, draft)
  return patch && { [kind]: patch }
}

/** Null clears a value; an empty text for a missing value is no change. */
function clearable<Name extends string>(
  name: Name,
  typed: string | undefined,
  present: string | undefined,
): { [Key in Name]?: string | null } {
  if (typed === undefined || typed === (present ?? '')) return {}
  return { [name]: typed === '' ? null : typed } as { [Key in Name]?: string | null }
}

type AuthenticatedPatch = Omit<KafkaSourcePatch & ObjectStorageSourcePatch, 'authentication'> & {
  authentication?: string | null
}

/** Patch of sources with several authentications: Kafka, Kinesis and object storage. */
function authenticatedPatchOf(
  pipe: Pipe,
  draft: PipeDraft,
): KafkaSourcePatch | KinesisSourcePatch | ObjectStorageSourcePatch | undefined {
  const { kafka, kinesis, objectStorage } = pipe.source
  const typed = draft.source ?? {}
  const present = kafka ?? kinesis ?? objectStorage!
  const authentication = chosenAuthentication(pipe, draft)
  const patch: AuthenticatedPatch = {
    ...clearable('authentication', authentication, present.authentication),
    ...secretsPatchOf(pipe, draft),
    ...clearable('iamRole', typed.iamRole?.trim(), present.iamRole),
    ...(kafka ? clearable('caCertificate', typed.caCertificate, kafka.caCertificate) : {}),
    ...(kafka ? endpointsPatchOf(typed, kafka.reversePrivateEndpointIds) : {}),
    ...(objectStorage
      ? {
          ...clearable('azureContainerName', typed.azureContainerName, objectStorage.azureContainerName),
          ...clearable('path', typed.path, objectStorage.path),
        }
      : {}),
  }
  // A credential of another kind, sent alone, would change the authentication, so the shown one is sent with it.
  const brought = [
    typeof patch.iamRole === 'string' && 'IAM_ROLE',
    typeof patch.connectionString === 'string' && 'CONNECTION_STRING',
  ]
  const wouldSwitch = brought.some((one) => one !== false && one !== authentication)
  const kept = wouldSwitch && patch.authentication === undefined ? { authentication: authentication || null } : {}
  return somethingOf({ ...kept, ...patch } as KafkaSourcePatch)
}

function endpointsPatchOf({ reversePrivateEndpointIds: ids }: SourceDraft, present: string[] = []): KafkaSourcePatch {
  if (!ids || !differs(ids, present)) return {}
  return { reversePrivateEndpointIds: ids.length > 0 ? ids : null }
}

/** Secrets typed for the chosen authentication; those typed for another one are not sent. */
function secretsPatchOf(pipe: Pipe, draft: PipeDraft): { [Group in SecretGroup]?: never } {
  const { secrets = {}, forgottenSecrets = [] } = draft.source ?? {}
  const authentication = chosenAuthentication(pipe, draft)
  const forgotten = forgettableSecrets(pipe, authentication).filter((group) => forgottenSecrets.includes(group))
  const cleared = Object.fromEntries(forgotten.map((group) => [group, null]))
  const needed = neededSecrets(pipe, authentication)
  const typed = (needed?.names ?? []).flatMap((name) => (secrets[name] ? [[name, secrets[name]]] : []))
  if (!needed || typed.length === 0) return cleared
  return { ...cleared, [needed.group]: needed.group === 'connectionString' ? typed[0]![1] : Object.fromEntries(typed) }
}

function postgresPatchOf(pipe: Pipe, draft: PipeDraft): PostgresSourcePatch | undefined {
  const present = pipe.source.postgres!
  const typed = draft.source ?? {}
  const host = typed.host?.trim()
  const settings = Object.fromEntries(
    (['pullBatchSize', 'syncIntervalSeconds'] as const).flatMap((name) => {
      const value = typed[name]
      const isChanged = value !== undefined && (value ?? postgresNumberDefaults[name]) !== present.settings[name]
      return isChanged ? [[name, value]] : []
    }),
  )
  const removed = removedTables(present.tableMappings, typed)
  const added = (typed.addedTables ?? []).map(addition)
  return somethingOf({
    ...(host !== undefined && host !== present.host ? { host } : {}),
    ...(typeof typed.port === 'number' && typed.port !== present.port ? { port: typed.port } : {}),
    ...(typed.database !== undefined && typed.database !== present.database ? { database: typed.database } : {}),
    ...secretsPatchOf(pipe, draft),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
    ...(removed.length > 0 ? { tableMappingsToRemove: removed } : {}),
    ...(added.length > 0 ? { tableMappingsToAdd: added } : {}),
  })
}

/** Removed tables that the pipe still has: another person may have removed some. */
function removedTables(present: TableMapping[], { removedTables: names = [] }: SourceDraft): TableName[] {
  return present
    .filter((mapping) => names.some((name) => isSameTable(name, mapping)))
    .map(({ sourceSchemaName, sourceTable }) => ({ sourceSchemaName, sourceTable }))
}

/** Omits default values. */
function addition({
  tableEngine,
  useCustomSortingKey = false,
  sortingKeys = [],
  excludedColumns = [],
  ...names
}: TableMappingToAdd): TableMappingToAdd {
  return {
    ...names,
    ...(tableEngine ? { tableEngine } : {}),
    ...(useCustomSortingKey ? { useCustomSortingKey } : {}),
    ...(sortingKeys.length > 0 ? { sortingKeys } : {}),
    ...(excludedColumns.length > 0 ? { excludedColumns } : {}),
  }
}
