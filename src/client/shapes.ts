// Generated from the list of operations: npm run generate.
// biome-ignore-all format: written by a program.
// biome-ignore-all assist/source/organizeImports: written by a program.

export type ListOrganizationsParams = {
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
}

export type PrivateEndpoint = {
  /** The provider of the service. */
  cloudProvider: 'aws' | 'gcp' | 'azure'
  /** For people. */
  description: string
  /** The id that the cloud provider gave the endpoint: aws `vpce-` and 8 or 17 hex digits; gcp decimal digits; azure a resource id or a uuid. An id of another form is accepted with a `Warning` header. */
  id: string
  /** The region of the service. */
  region: string
}

export type Organization = {
  id: string
  /** For people. */
  name: string
  /** When the organization was made. */
  createdAt: string
  /** The private endpoints of the organization, the newest first, each once: with the provider and the region of the service that it was attached to first. At most the newest 1000; those of a service are listed in full with the service. */
  privateEndpoints: PrivateEndpoint[]
}

export type GetOrganizationParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type UpdateOrganizationParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type OrganizationPatch = {
  /** For people. */
  name?: string
}

export type ListActivitiesParams = {
  /** The organization of the API key. */
  organizationId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
  /** Only activities at this time or later. */
  from_date?: string | undefined
  /** Only activities before this time. */
  to_date?: string | undefined
  /** Only activities of this type, such as `member_role_changed`. */
  type?: string | undefined
}

export type ActivityChange = {
  /** The path of the field, such as `settings.streaming_max_insert_wait_ms`. */
  field: string
  /** What it was, any JSON value. Absent when the field had no value, and for a secret. */
  from?: unknown
  /** What it became. Absent when the field has no value any more; `changed` for a secret. */
  to?: unknown
}

export type Activity = {
  /** Ids of later activities sort later. */
  id: string
  /** What was done, such as `member_role_changed`. */
  type: string
  /** When it was done. */
  createdAt: string
  actor: {
    /** Who did it: an API key, a person in the console, or Penstock itself. */
    type: 'key' | 'user' | 'system'
    /** The id of the record of the key, or of the user. */
    id: string
    /** The present name of the key or the user. Absent when it is gone. */
    name?: string
  }
  /** The IP address that the request came from. */
  address: string
  /** What the client called itself: its header `User-Agent`, at most 512 characters. */
  userAgent: string
  /** The request: as its answer had it in `X-Request-Id`. */
  requestId: string
  /** What was changed, with the ids of what it belongs to, such as `serviceId`. */
  target: {
    /** The kind of resource, such as `member` or `pipe`. */
    type: string
    /** The resource. */
    id: string
  }
  /** The fields that were changed. */
  changes: ActivityChange[]
}

export type GetActivityParams = {
  /** The organization of the API key. */
  organizationId: string
  /** An activity of the organization. */
  activityId: string
}

export type ListMembersParams = {
  /** The organization of the API key. */
  organizationId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
  /** Only members with this text in their name or email address. The letters A to Z match in either case. */
  search?: string | undefined
}

export type Member = {
  /** The user; the same id in every organization. */
  userId: string
  /** From the personal profile of the user. */
  name: string
  /** From the personal profile of the user. */
  email: string
  /** `admin` may do everything; `developer` may read everything and change nothing. */
  role: 'admin' | 'developer'
  /** When the user joined the organization. */
  joinedAt: string
}

export type GetMemberParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The user; the same id in every organization the user belongs to. */
  userId: string
}

export type UpdateMemberParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The user; the same id in every organization the user belongs to. */
  userId: string
}

export type MemberPatch = {
  /** `admin` may do everything; `developer` may read everything and change nothing. */
  role: 'admin' | 'developer'
}

export type DeleteMemberParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The user; the same id in every organization the user belongs to. */
  userId: string
}

export type ListInvitationsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
}

export type Invitation = {
  id: string
  /** Who is invited; in lower case. */
  email: string
  /** `admin` may do everything; `developer` may read everything and change nothing. */
  role: 'admin' | 'developer'
  createdAt: string
  /** From then on the link is refused. */
  expireAt: string
}

export type CreateInvitationParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type InvitationCreate = {
  /** Who is invited. */
  email: string
  /** `admin` may do everything; `developer` may read everything and change nothing. */
  role: 'admin' | 'developer'
}

export type InvitationWithLink = {
  id: string
  /** Who is invited; in lower case. */
  email: string
  /** `admin` may do everything; `developer` may read everything and change nothing. */
  role: 'admin' | 'developer'
  createdAt: string
  /** From then on the link is refused. */
  expireAt: string
  /** Where the invitation is accepted; send it to the person. Whoever has it can join: it is shown only in this answer. */
  link: string
}

export type GetInvitationParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The invitation. */
  invitationId: string
}

export type DeleteInvitationParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The invitation. */
  invitationId: string
}

export type ListKeysParams = {
  /** The organization of the API key. */
  organizationId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
}

export type IpAccess = {
  /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
  source: string
  /** What the address is. */
  description: string
}

export type Key = {
  /** What paths name the key by. */
  id: string
  /** The user name that the key signs in with: 20 characters. Not the `{keyId}` of paths, which is `id`. */
  keyId: string
  /** Name of the key, to distinguish keys. */
  name: string
  roles: ('admin' | 'developer')[]
  /** A disabled key is refused. */
  state: 'enabled' | 'disabled'
  expireAt: string | null
  /** Where the key may be used from; empty means everywhere. */
  ipAccessList: IpAccess[]
  createdAt: string
  usedAt: string | null
  /** The last four characters of the secret. */
  keySuffix: string
  previousSecretValidUntil: string | null
}

export type CreateKeyParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type KeyCreate = {
  /** Name of the key, to distinguish keys. */
  name: string
  /** Exactly one role. */
  roles: ('admin' | 'developer')[]
  /** A disabled key is refused. */
  state?: 'enabled' | 'disabled'
  expireAt?: string | null
  /** Where the key may be used from; an empty list means everywhere. Each source once. */
  ipAccessList?: {
    /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** What the address is. */
    description?: string
  }[]
}

export type KeyWithSecret = {
  key: Key
  /** The user name to sign in with. */
  keyId: string
  /** The password to sign in with. Shown only in this answer: keep it now. */
  keySecret: string
}

export type GetCurrentKeyParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type GetKeyParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The `id` of the key, a uuid. Not the `keyId` of its result, which is the user name that it signs in with. */
  keyId: string
}

export type UpdateKeyParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The `id` of the key, a uuid. Not the `keyId` of its result, which is the user name that it signs in with. */
  keyId: string
}

export type KeyPatch = {
  /** Name of the key, to distinguish keys. */
  name?: string
  /** Exactly one role. */
  roles?: ('admin' | 'developer')[]
  /** A disabled key is refused. */
  state?: 'enabled' | 'disabled'
  expireAt?: string | null
  /** Where the key may be used from; an empty list means everywhere. Each source once. */
  ipAccessList?: {
    /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** What the address is. */
    description?: string
  }[]
  usedAt?: string | null
}

export type DeleteKeyParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The `id` of the key, a uuid. Not the `keyId` of its result, which is the user name that it signs in with. */
  keyId: string
}

export type RotateKeyParams = {
  /** The organization of the API key. */
  organizationId: string
  /** The `id` of the key, a uuid. Not the `keyId` of its result, which is the user name that it signs in with. */
  keyId: string
}

export type KeyRotation = {
  /** How long the present secret stays good: at most a week. With 0, as when it is left out, it ends now. For the key that the request is made with it is at least 60, and 300 when it is left out. */
  graceSeconds?: number
}

export type ListServicesParams = {
  /** The organization of the API key. */
  organizationId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
}

export type Service = {
  id: string
  /** For people; need not be unique. */
  name: string
  /** The cloud that the engine runs in. */
  provider: 'aws' | 'gcp' | 'azure'
  /** The region of the provider that the engine runs in. */
  region: string
  /** What the last check of the engine found; it is checked every 30 seconds, and at once after a change. `provisioning`: not checked yet. `running`: it answers. `degraded`: it was running, and one or two checks have failed since. `failed`: three have, or it was never reached, or it refuses the user name or the password. `stopped`: it was running, and after three failed checks nothing accepts connections. */
  state: 'provisioning' | 'running' | 'degraded' | 'failed' | 'stopped'
  stateReason: string | null
  engineVersion: string | null
  /** How the engine is reached: one entry, or none when no endpoint has been registered. */
  endpoints: {
    protocol: 'http' | 'https'
    host: string
    port: number
    /** A user of the engine. */
    username: string
  }[]
  /** The private endpoints attached to the service, the newest first: at most 1000, in a list of services at most 10. `listPrivateEndpoints` has them all. */
  privateEndpointIds: string[]
  /** From where the engine may be used; empty: from everywhere. */
  ipAccessList: IpAccess[]
  createdAt: string
}

export type CreateServiceParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type ServiceCreate = {
  /** For people; need not be unique. */
  name: string
  /** The cloud that the engine runs in. */
  provider: 'aws' | 'gcp' | 'azure'
  /** The region of the provider that the engine runs in. */
  region: string
  /** Where the engine is, and how to sign in. */
  endpoint: {
    /** Where the HTTP interface of the engine is: `http` or `https`, a host, and a port unless it is ClickHouse's own (8123, with TLS 8443). No user name, path, query or fragment. With a password `https`, unless the operator allows `http`. */
    url: string
    /** A user of the engine. */
    username: string
    /** The password of the user; may be empty. It is stored sealed and never shown. */
    password: string
  }
  /** From where the engine may be used; empty: from everywhere. Each source once. */
  ipAccessList?: {
    /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** What the address is. */
    description?: string
  }[]
}

export type GetServiceParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type UpdateServiceParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type ServicePatch = {
  /** For people; need not be unique. */
  name?: string
  /** What is left out stays: a new password keeps URL and user name. With another protocol, host or port the password must be sent too. */
  endpoint?: {
    /** Where the HTTP interface of the engine is: `http` or `https`, a host, and a port unless it is ClickHouse's own (8123, with TLS 8443). No user name, path, query or fragment. With a password `https`, unless the operator allows `http`. */
    url?: string
    /** A user of the engine. */
    username?: string
    /** The password of the user; may be empty. It is stored sealed and never shown. */
    password?: string
  }
  privateEndpointIds?: 
    | {
    /** Attach these; the organization must have them. */
    add?: string[]
    /** Detach these; they must be attached. */
    remove?: string[]
  }
    | string[]
  ipAccessList?: 
    | {
    /** Let these in too, each once; a source that the list has gets the new description. */
    add?: {
      /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
      source: string
      /** What the address is. */
      description?: string
    }[]
    /** Take these out, each once; the list must have them. */
    remove?: {
      /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
      source: string
    }[]
  }
    | {
    /** An IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** What the address is. */
    description?: string
  }[]
  /** Ignored: it is set by the checks of the engine. */
  state?: 'provisioning' | 'running' | 'degraded' | 'failed' | 'stopped'
  stateReason?: string | null
  engineVersion?: string | null
}

export type DeleteServiceParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type ListServiceTablesParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type ServiceTable = {
  /** Database of the table. */
  database: string
  /** Name of the table. */
  table: string
  /** Its engine, such as `MergeTree` or `View`. */
  engine: string
  rows: number | null
  bytes: number | null
}

export type GetPrivateEndpointConfigParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type PrivateEndpointConfig = {
  /** What to connect a private endpoint of the provider to. */
  endpointServiceId: string
  /** The name by which the engine is reached over it. */
  privateDnsHostname: string
}

export type ListPrivateEndpointsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
}

export type CreatePrivateEndpointParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** Refuse an id that does not look like one of the provider. */
  strict?: boolean | undefined
}

export type PrivateEndpointCreate = {
  /** For people. */
  description?: string
  /** The id that the cloud provider gave the endpoint: aws `vpce-` and 8 or 17 hex digits; gcp decimal digits; azure a resource id or a uuid. An id of another form is accepted with a `Warning` header. */
  id: string
}

export type DeletePrivateEndpointParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** An endpoint that is attached to the service. */
  privateEndpointId: string
}

export type ListPipesParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** Most items in the answer. */
  limit?: number | undefined
  /** Where to go on: as the `Link` header of the page before gave it. */
  cursor?: string | undefined
  /** Only pipes in this state. */
  state?: 
    | 'Provisioning'
    | 'Setup'
    | 'Snapshot'
    | 'Running'
    | 'Modifying'
    | 'Resync'
    | 'Stopping'
    | 'Stopped'
    | 'Pausing'
    | 'Paused'
    | 'Completed'
    | 'Degraded'
    | 'Failed'
    | 'InternalError' | undefined
}

export type TableDefinition = {
  engine: {
    type: 'MergeTree' | 'ReplacingMergeTree' | 'SummingMergeTree' | 'Null'
    /** Columns that a `SummingMergeTree` adds up. */
    columnIds?: string[]
    /** The version column of a `ReplacingMergeTree`: the row with the highest value stays. */
    versionColumnId?: string
  }
  /** Expression that makes the partitions. */
  partitionBy?: string
  /** Expression of the primary key. */
  primaryKey?: string
  /** Columns by which the table is sorted. */
  sortingKey?: string[]
}

export type Column = {
  /** Unique in the table. */
  name: string
  /** A type of the engine, such as `UInt64` or `Nullable(String)`. */
  type: string
}

export type PipeDestination = {
  /** Database of the service. */
  database: string
  /** Table of the service. Not for postgres, whose mappings name the tables. */
  table?: string
  tableDefinition?: TableDefinition
  /** Whether Penstock creates and extends the table; then it needs `tableDefinition`. */
  managedTable?: boolean
  /** All columns of the table; a new list replaces the old one. */
  columns: Column[]
}

export type FieldMapping = {
  /** A column of the destination. */
  destinationField: string
  /** A field of the source. */
  sourceField: string
}

export type PipeScaling = {
  /** 0: Penstock decides. */
  concurrency: number
  replicas: number
  replicaCpuMillicores: number
  replicaMemoryGb: number
}

export type PipeSettings = {
  /** Threads that download data. */
  engine_max_download_threads: number
  /** Threads that execute an insert. */
  engine_max_insert_threads: number
  /** Threads that process a query; 0: the engine decides. */
  engine_max_threads: number
  /** Smaller blocks are joined up to this size. */
  engine_min_insert_block_size_bytes: number
  /** How a distributed insert from a select is spread. */
  engine_parallel_distributed_insert_select: number
  /** Push to attached materialized views at the same time. */
  engine_parallel_view_processing: boolean
  /** Files that are loaded at the same time. */
  object_storage_concurrency: number
  /** Most files in one insert. */
  object_storage_max_file_count: number
  /** Most bytes in one insert. */
  object_storage_max_insert_bytes: number
  /** Time between two looks for new files. */
  object_storage_polling_interval_ms: number
  /** Share the files out over all replicas of the pipe; otherwise one loads them all. */
  object_storage_use_cluster_function: boolean
  /** Longest wait before what has been read is inserted. */
  streaming_max_insert_wait_ms: number
}

export type KafkaSource = {
  type: 'kafka' | 'redpanda' | 'msk' | 'confluent' | 'warpstream' | 'azureeventhub' | 'dokafka'
  /** Decides which credentials are needed. */
  authentication: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'IAM_ROLE' | 'IAM_USER' | 'MUTUAL_TLS'
  /** `host:port`, separated by commas. */
  brokers: string
  /** Separated by commas. */
  topics: string
  /** `AvroConfluent` needs `schemaRegistry`. */
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'
  /** When a pipe is created without one: `penstock-` and the id of the pipe. */
  consumerGroup?: string
  offset?: {
    strategy: 'from_beginning' | 'from_latest' | 'from_timestamp'
    /** `YYYY-MM-DDTHH:MM`, UTC. With `from_timestamp`, and only with it. */
    timestamp?: string
  }
  /** PEM. Whether the certificate is good is checked by `validateSamples`. */
  caCertificate?: string
  /** Identifier of a cloud role. */
  iamRole?: string
  /** Private ways to the brokers; a new list replaces the old one. */
  reversePrivateEndpointIds?: string[]
  schemaRegistry?: {
    /** `http` or `https`, without user name and password. */
    url: string
    /** Left out: the registry asks for nothing. `PLAIN` when credentials are sent. */
    authentication?: 'PLAIN'
    /** PEM. Whether the certificate is good is checked by `validateSamples`. */
    caCertificate?: string
  }
}

export type KinesisSource = {
  /** `IAM_ROLE` needs `iamRole`, `IAM_USER` needs `accessKey`. */
  authentication: 'IAM_ROLE' | 'IAM_USER'
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent'
  /** Where reading begins. */
  iteratorType: 'TRIM_HORIZON' | 'LATEST' | 'AT_TIMESTAMP'
  region: string
  streamName: string
  /** Seconds since 1970. With `AT_TIMESTAMP`, and only with it. */
  timestamp?: number
  /** Identifier of a cloud role. */
  iamRole?: string
  useEnhancedFanOut?: boolean
}

export type ObjectStorageSource = {
  type: 's3' | 'gcs' | 'azureblobstorage' | 'dospaces'
  format: 
    | 'JSONEachRow'
    | 'CSV'
    | 'CSVWithNames'
    | 'TabSeparated'
    | 'TabSeparatedWithNames'
    | 'Parquet'
    | 'Avro'
  /** `CONNECTION_STRING` is for `azureblobstorage`. Without authentication the objects are public. */
  authentication?: 'IAM_ROLE' | 'IAM_USER' | 'CONNECTION_STRING'
  /** For `azureblobstorage`. */
  azureContainerName?: string
  /** One character, for `CSV` and `CSVWithNames`. */
  delimiter?: string
  /** Identifier of a cloud role. */
  iamRole?: string
  /** Path or glob pattern within the container. */
  path?: string
  /** URL of a queue that reports new objects: of SQS for `s3`, of Queue Storage for `azureblobstorage`. Needs `isContinuous`. The queue must be for this pipe alone. */
  queueUrl?: string
  /** URL or glob pattern of the objects. Needed, except for `azureblobstorage`, which has none. */
  url?: string
  compression: 'auto' | 'none' | 'gzip' | 'gz' | 'brotli' | 'br' | 'xz' | 'LZMA' | 'zstd'
  /** Its secret parts are shown as `***`. */
  connectionString?: string
  /** Whether to go on with objects that come later. */
  isContinuous: boolean
  /** Only objects that the queue reports are loaded. Shown only when it is true. */
  skipInitialLoad?: boolean
}

export type TableMapping = {
  /** Schema of the table in PostgreSQL. */
  sourceSchemaName: string
  /** Table in PostgreSQL. */
  sourceTable: string
  /** Table of the service; unique in the pipe. */
  targetTable: string
  tableEngine: 'MergeTree' | 'ReplacingMergeTree' | 'Null'
  useCustomSortingKey: boolean
  sortingKeys: string[]
  excludedColumns: string[]
}

export type PostgresSource = {
  host: string
  port: number
  /** Database in PostgreSQL. */
  database: string
  settings: {
    /** Columns that may be NULL stay so. */
    allowNullableColumns: boolean
    /** Only without `replicationSlotName`. */
    enableFailoverSlots: boolean
    /** Connections that load one table. */
    initialLoadParallelism: number
    /** A publication that exists; else one is made. */
    publicationName?: string
    /** Most changes in one batch. */
    pullBatchSize: number
    /** Load and follow, load once, or follow only. */
    replicationMode: 'cdc' | 'snapshot' | 'cdc_only'
    /** A slot that exists. Only with `cdc_only`. */
    replicationSlotName?: string
    /** Rows that are loaded at once. */
    snapshotNumRowsPerPartition: number
    /** Tables that are loaded at the same time. */
    snapshotNumberOfParallelTables: number
    /** Time between two batches. */
    syncIntervalSeconds: number
  }
  tableMappings: TableMapping[]
}

export type Pipe = {
  id: string
  serviceId: string
  name: string
  /** What the pipe is doing now. Changed by commands and by events, not by an update. */
  state: 
    | 'Provisioning'
    | 'Setup'
    | 'Snapshot'
    | 'Running'
    | 'Modifying'
    | 'Resync'
    | 'Stopping'
    | 'Stopped'
    | 'Pausing'
    | 'Paused'
    | 'Completed'
    | 'Degraded'
    | 'Failed'
    | 'InternalError'
  createdAt: string
  /** When an update or a command last changed something. State changes by the runner do not count. */
  updatedAt: string
  destination: PipeDestination
  /** Columns that are not mapped are filled by name. A new list replaces the old one. */
  fieldMappings: FieldMapping[]
  scaling: PipeScaling
  settings: PipeSettings
  /** Has the one member of the kind of the pipe. Secrets are never shown. */
  source: {
    kafka?: KafkaSource
    kinesis?: KinesisSource
    objectStorage?: ObjectStorageSource
    postgres?: PostgresSource
  }
}

export type CreatePipeParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type KafkaSourceCreate = {
  type: 'kafka' | 'redpanda' | 'msk' | 'confluent' | 'warpstream' | 'azureeventhub' | 'dokafka'
  /** Decides which credentials are needed. */
  authentication: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'IAM_ROLE' | 'IAM_USER' | 'MUTUAL_TLS'
  /** `host:port`, separated by commas. */
  brokers: string
  /** Separated by commas. */
  topics: string
  /** `AvroConfluent` needs `schemaRegistry`. */
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'
  /** When a pipe is created without one: `penstock-` and the id of the pipe. */
  consumerGroup?: string
  offset?: {
    strategy: 'from_beginning' | 'from_latest' | 'from_timestamp'
    /** `YYYY-MM-DDTHH:MM`, UTC. With `from_timestamp`, and only with it. */
    timestamp?: string
  }
  /** PEM. Whether the certificate is good is checked by `validateSamples`. */
  caCertificate?: string
  /** Identifier of a cloud role. */
  iamRole?: string
  /** Private ways to the brokers; a new list replaces the old one. */
  reversePrivateEndpointIds?: string[]
  /** Never shown again. In an update, a part that is not sent stays as it is. */
  credentials?: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
    /** Id of an access key of a cloud user. */
    accessKeyId?: string
    /** Secret of the access key. */
    secretKey?: string
    /** Client certificate, for `MUTUAL_TLS`. */
    certificate?: string
    /** Key of the client certificate. */
    privateKey?: string
    /** For `azureeventhub`; stands for user name and password. */
    connectionString?: string
  }
  schemaRegistry?: {
    /** `http` or `https`, without user name and password. */
    url: string
    /** Left out: the registry asks for nothing. `PLAIN` when credentials are sent. */
    authentication?: 'PLAIN'
    /** PEM. Whether the certificate is good is checked by `validateSamples`. */
    caCertificate?: string
    /** Never shown again. In an update, a part that is not sent stays as it is. */
    credentials?: {
      /** User name. */
      username?: string
      /** Password. */
      password?: string
    }
  }
}

export type KinesisSourceCreate = {
  /** `IAM_ROLE` needs `iamRole`, `IAM_USER` needs `accessKey`. */
  authentication: 'IAM_ROLE' | 'IAM_USER'
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent'
  /** Where reading begins. */
  iteratorType: 'TRIM_HORIZON' | 'LATEST' | 'AT_TIMESTAMP'
  region: string
  streamName: string
  /** Seconds since 1970. With `AT_TIMESTAMP`, and only with it. */
  timestamp?: number
  /** Never shown again. In an update, a part that is not sent stays as it is. */
  accessKey?: {
    /** Id of an access key of a cloud user. */
    accessKeyId?: string
    /** Secret of the access key. */
    secretKey?: string
  }
  /** Identifier of a cloud role. */
  iamRole?: string
  useEnhancedFanOut?: boolean
}

export type ObjectStorageSourceCreate = {
  type: 's3' | 'gcs' | 'azureblobstorage' | 'dospaces'
  format: 
    | 'JSONEachRow'
    | 'CSV'
    | 'CSVWithNames'
    | 'TabSeparated'
    | 'TabSeparatedWithNames'
    | 'Parquet'
    | 'Avro'
  /** `CONNECTION_STRING` is for `azureblobstorage`. Without authentication the objects are public. */
  authentication?: 'IAM_ROLE' | 'IAM_USER' | 'CONNECTION_STRING'
  /** For `azureblobstorage`. */
  azureContainerName?: string
  /** One character, for `CSV` and `CSVWithNames`. */
  delimiter?: string
  /** Identifier of a cloud role. */
  iamRole?: string
  /** Path or glob pattern within the container. */
  path?: string
  /** URL of a queue that reports new objects: of SQS for `s3`, of Queue Storage for `azureblobstorage`. Needs `isContinuous`. The queue must be for this pipe alone. */
  queueUrl?: string
  /** URL or glob pattern of the objects. Needed, except for `azureblobstorage`, which has none. */
  url?: string
  /** Never shown again. In an update, a part that is not sent stays as it is. */
  accessKey?: {
    /** Id of an access key of a cloud user. */
    accessKeyId?: string
    /** Secret of the access key. */
    secretKey?: string
  }
  compression?: 'auto' | 'none' | 'gzip' | 'gz' | 'brotli' | 'br' | 'xz' | 'LZMA' | 'zstd'
  /** `name=value` parts, separated by `;`. Only values that say where the account is are shown; its secret parts (`AccountKey=`, `SharedAccessSignature=`, `sig=`) and all others are shown as `***`. */
  connectionString?: string
  /** Whether to go on with objects that come later. */
  isContinuous?: boolean
  /** With `queueUrl`: whether to load only objects that the queue reports, and none that were there before. */
  skipInitialLoad?: boolean
}

export type TableMappingToAdd = {
  /** Schema of the table in PostgreSQL. */
  sourceSchemaName: string
  /** Table in PostgreSQL. */
  sourceTable: string
  /** Table of the service; unique in the pipe. */
  targetTable: string
  tableEngine?: 'MergeTree' | 'ReplacingMergeTree' | 'Null'
  /** Needs `sortingKeys`. */
  useCustomSortingKey?: boolean
  /** Columns of the sorting key. */
  sortingKeys?: string[]
  /** Columns that are not replicated. */
  excludedColumns?: string[]
}

export type PostgresSourceCreate = {
  host: string
  port?: number
  /** Database in PostgreSQL. */
  database: string
  /** Never shown again. In an update, a part that is not sent stays as it is. */
  credentials: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
  }
  settings?: {
    /** Columns that may be NULL stay so. */
    allowNullableColumns?: boolean
    /** Only without `replicationSlotName`. */
    enableFailoverSlots?: boolean
    /** Connections that load one table. */
    initialLoadParallelism?: number
    /** A publication that exists; else one is made. */
    publicationName?: string
    /** Most changes in one batch. */
    pullBatchSize?: number
    /** Load and follow, load once, or follow only. */
    replicationMode?: 'cdc' | 'snapshot' | 'cdc_only'
    /** A slot that exists. Only with `cdc_only`. */
    replicationSlotName?: string
    /** Rows that are loaded at once. */
    snapshotNumRowsPerPartition?: number
    /** Tables that are loaded at the same time. */
    snapshotNumberOfParallelTables?: number
    /** Time between two batches. */
    syncIntervalSeconds?: number
  }
  tableMappings: TableMappingToAdd[]
}

export type PipeDestinationCreate = {
  /** Database of the service. */
  database: string
  /** Table of the service. Not for postgres, whose mappings name the tables. */
  table?: string
  tableDefinition?: TableDefinition
  /** Whether Penstock creates and extends the table; then it needs `tableDefinition`. Not for postgres. */
  managedTable?: boolean
  /** All columns of the table. Postgres pipes have none. */
  columns?: Column[]
}

export type PipeScalingCreate = {
  /** 0: Penstock decides. */
  concurrency?: number
  replicas?: number
  replicaCpuMillicores?: number
  replicaMemoryGb?: number
}

export type PipeSettingsCreate = {
  /** Threads that download data. */
  engine_max_download_threads?: number
  /** Threads that execute an insert. */
  engine_max_insert_threads?: number
  /** Threads that process a query; 0: the engine decides. */
  engine_max_threads?: number
  /** Smaller blocks are joined up to this size. */
  engine_min_insert_block_size_bytes?: number
  /** How a distributed insert from a select is spread. */
  engine_parallel_distributed_insert_select?: number
  /** Push to attached materialized views at the same time. */
  engine_parallel_view_processing?: boolean
  /** Files that are loaded at the same time. */
  object_storage_concurrency?: number
  /** Most files in one insert. */
  object_storage_max_file_count?: number
  /** Most bytes in one insert. */
  object_storage_max_insert_bytes?: number
  /** Time between two looks for new files. */
  object_storage_polling_interval_ms?: number
  /** Share the files out over all replicas of the pipe; otherwise one loads them all. */
  object_storage_use_cluster_function?: boolean
  /** Longest wait before what has been read is inserted. */
  streaming_max_insert_wait_ms?: number
}

export type PipeCreate = {
  name: string
  /** Exactly one kind, with its secrets. */
  source: {
    kafka?: KafkaSourceCreate
    kinesis?: KinesisSourceCreate
    objectStorage?: ObjectStorageSourceCreate
    postgres?: PostgresSourceCreate
    /** Connect and check a sample before the pipe is created. */
    validateSamples?: boolean
  }
  destination: PipeDestinationCreate
  /** Columns that are not mapped are filled by name. A new list replaces the old one. */
  fieldMappings?: FieldMapping[]
  scaling?: PipeScalingCreate
  settings?: PipeSettingsCreate
  /** Create the pipe stopped; the command `start` starts it. */
  startPaused?: boolean
}

export type GetPipeParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type UpdatePipeParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type PipeSettingsPatch = {
  engine_max_download_threads?: number | null
  engine_max_insert_threads?: number | null
  engine_max_threads?: number | null
  engine_min_insert_block_size_bytes?: number | null
  engine_parallel_distributed_insert_select?: number | null
  engine_parallel_view_processing?: boolean | null
  object_storage_concurrency?: number | null
  object_storage_max_file_count?: number | null
  object_storage_max_insert_bytes?: number | null
  object_storage_polling_interval_ms?: number | null
  object_storage_use_cluster_function?: boolean | null
  streaming_max_insert_wait_ms?: number | null
}

/** The credentials of the schema registry cannot be changed. */
export type KafkaSourcePatch = {
  /** Decides which credentials are needed. */
  authentication?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'IAM_ROLE' | 'IAM_USER' | 'MUTUAL_TLS'
  caCertificate?: string | null
  credentials?: 
    | {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
    /** Id of an access key of a cloud user. */
    accessKeyId?: string
    /** Secret of the access key. */
    secretKey?: string
    /** Client certificate, for `MUTUAL_TLS`. */
    certificate?: string
    /** Key of the client certificate. */
    privateKey?: string
    /** For `azureeventhub`; stands for user name and password. */
    connectionString?: string
  }
    | null
  iamRole?: string | null
  reversePrivateEndpointIds?: string[] | null
}

export type KinesisSourcePatch = {
  /** `IAM_ROLE` needs `iamRole`, `IAM_USER` needs `accessKey`. */
  authentication?: 'IAM_ROLE' | 'IAM_USER'
  accessKey?: 
    | {
    /** Id of an access key of a cloud user. */
    accessKeyId?: string
    /** Secret of the access key. */
    secretKey?: string
  }
    | null
  iamRole?: string | null
}

export type ObjectStorageSourcePatch = {
  authentication?: 'IAM_ROLE' | 'IAM_USER' | 'CONNECTION_STRING' | null
  accessKey?: 
    | {
    /** Id of an access key of a cloud user. */
    accessKeyId?: string
    /** Secret of the access key. */
    secretKey?: string
  }
    | null
  azureContainerName?: string | null
  connectionString?: string | null
  iamRole?: string | null
  path?: string | null
}

export type TableMappingToRemove = {
  /** Schema of the table in PostgreSQL. */
  sourceSchemaName: string
  /** Table in PostgreSQL. */
  sourceTable: string
  /** When sent, must match. */
  targetTable?: string
}

export type PostgresSourcePatch = {
  /** Never shown again. In an update, a part that is not sent stays as it is. */
  credentials?: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
  }
  /** Database in PostgreSQL. */
  database?: string
  host?: string
  port?: number
  settings?: {
    pullBatchSize?: number | null
    syncIntervalSeconds?: number | null
  }
  /** Applied after the removals. */
  tableMappingsToAdd?: TableMappingToAdd[]
  /** Applied before the additions. */
  tableMappingsToRemove?: TableMappingToRemove[]
}

export type PipePatch = {
  name?: string
  destination?: {
    /** All columns of the table; a new list replaces the old one. */
    columns?: Column[]
  }
  /** Columns that are not mapped are filled by name. A new list replaces the old one. */
  fieldMappings?: FieldMapping[]
  settings?: PipeSettingsPatch
  /** Only the member of the kind of the pipe. */
  source?: {
    /** The credentials of the schema registry cannot be changed. */
    kafka?: KafkaSourcePatch
    kinesis?: KinesisSourcePatch
    objectStorage?: ObjectStorageSourcePatch
    postgres?: PostgresSourcePatch
    /** Connect with the changed configuration and check a sample before anything is changed. */
    validateSamples?: boolean
  }
}

export type DeletePipeParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type GetPipeSettingsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type UpdatePipeSettingsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type UpdatePipeScalingParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type PipeScalingPatch = {
  concurrency?: number | null
  replicas?: number | null
  replicaCpuMillicores?: number | null
  replicaMemoryGb?: number | null
}

export type UpdatePipeStateParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type PipeStatePatch = {
  command: 'start' | 'stop' | 'resync'
}

export type GetPipeMetricsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type PipeTable = {
  /** Schema of the table in the source. */
  sourceSchemaName: string
  /** Table in the source. */
  sourceTable: string
  /** Table of the service that is filled. A table that is loaded again is filled beside the old one, by another name. */
  targetTable: string
  /** `following` when it has what the source has and takes every change; `loaded` when it takes none. */
  state: 'waiting' | 'loading' | 'following' | 'loaded'
  /** Whether it takes the place of a table that is there, once it is loaded. */
  isResync: boolean
  /** Rows that the load has brought so far, without changes since. */
  rowsLoaded: number
  rowsEstimated: number | null
  percent: number | null
  secondsLeft: number | null
}

export type PipeThroughput = {
  /** Where the minute begins. */
  minute: string
  /** Records and rows of files that were read. */
  rowsRead: number
  /** As they lie in the source. */
  bytesRead: number
  /** Rows that the engine took. */
  rowsWritten: number
  /** Rows that the engine did not take. */
  rowsRefused: number
}

export type PipeMetrics = {
  /** What the pipe is doing now. Changed by commands and by events, not by an update. */
  state: 
    | 'Provisioning'
    | 'Setup'
    | 'Snapshot'
    | 'Running'
    | 'Modifying'
    | 'Resync'
    | 'Stopping'
    | 'Stopped'
    | 'Pausing'
    | 'Paused'
    | 'Completed'
    | 'Degraded'
    | 'Failed'
    | 'InternalError'
  stateReason: string | null
  /** What the pipe is doing now, in words. */
  doing: string
  delivery: 'exactly_once' | 'at_least_once' | null
  deliveryReason: string | null
  /** Records and rows of files that were read since the pipe was created. */
  rowsRead: number
  /** As they lie in the source. */
  bytesRead: number
  /** Rows that the engine took. */
  rowsWritten: number
  /** What was sent to the engine. */
  bytesWritten: number
  /** Rows that the engine did not take, kept in the table of errors. */
  rowsRefused: number
  /** Batches that the engine took. */
  inserts: number
  /** Attempts that failed and were repeated. */
  retries: number
  lag: number | null
  retainedBytes: number | null
  freshnessSeconds: number | null
  lastInsertAt: string | null
  lastError: string | null
  lastErrorAt: string | null
  replayRequestedAt: string | null
  /** The workers that run now, at most `scaling.replicas`. */
  workers: {
    slot: number
    doing: string
    lag: number | null
  }[]
  /** Of a postgres pipe: how far each of its tables has come, in the order of its mappings. Else empty. */
  tables: PipeTable[]
  /** By the minute, the last hour, the oldest first. */
  throughput: PipeThroughput[]
}

export type GetPipeRowsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
  /** A destination table of the pipe. Default: the first one. */
  table?: string | undefined
  /** Maximum number of rows. */
  limit?: number | undefined
}

export type PipeRows = {
  /** The destination tables that exist in the engine, with their sizes. */
  tables: ServiceTable[]
  table: string | null
  /** The columns of the table, without states of aggregate functions. */
  columns: {
    /** Name of the column. */
    name: string
    /** Its type in the engine. */
    type: string
  }[]
  /** The newest rows first: one text per column, as the engine prints it; null is NULL. */
  rows: ((string | null)[])[]
  /** Whether a long value was shortened. */
  isCut: boolean
}

export type ListPipeErrorsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
  /** Most rows in the answer. */
  limit?: number | undefined
}

export type PipeBadRow = {
  id: string
  /** When it was refused. */
  at: string
  partition: string
  /** Where it stands in the source. */
  position: string
  /** The error message of the engine. */
  reason: string
  /** The row as it came; its first 10,000 characters. */
  raw: string
  /** Whether the row goes on after that. */
  isCut: boolean
}

export type ReplayPipeErrorsParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
  /** A pipe of the service. */
  pipeId: string
}

export type DiscoverSchemaParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type PostgresSourceDiscovery = {
  host: string
  port?: number
  /** Database in PostgreSQL. */
  database: string
  /** Never shown again. In an update, a part that is not sent stays as it is. */
  credentials: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
  }
  settings?: {
    /** Columns that may be NULL stay so. */
    allowNullableColumns?: boolean
    /** Only without `replicationSlotName`. */
    enableFailoverSlots?: boolean
    /** Connections that load one table. */
    initialLoadParallelism?: number
    /** A publication that exists; else one is made. */
    publicationName?: string
    /** Most changes in one batch. */
    pullBatchSize?: number
    /** Load and follow, load once, or follow only. */
    replicationMode?: 'cdc' | 'snapshot' | 'cdc_only'
    /** A slot that exists. Only with `cdc_only`. */
    replicationSlotName?: string
    /** Rows that are loaded at once. */
    snapshotNumRowsPerPartition?: number
    /** Tables that are loaded at the same time. */
    snapshotNumberOfParallelTables?: number
    /** Time between two batches. */
    syncIntervalSeconds?: number
  }
  /** The tables to take samples of. */
  tableMappings?: TableMappingToAdd[]
}

/** `source`, or `pipeId`; with the latter `patch` looks at the pipe as that update would make it. */
export type SchemaDiscoveryRequest = {
  /** Exactly one kind, as a pipe is created with it. */
  source?: {
    kafka?: KafkaSourceCreate
    kinesis?: KinesisSourceCreate
    objectStorage?: ObjectStorageSourceCreate
    postgres?: PostgresSourceDiscovery
  }
  /** Instead of `source`: a pipe of the service, with its stored secrets. */
  pipeId?: string
  patch?: PipePatch
}

export type SourceField = {
  name: string
  /** A type that holds the values, such as `Nullable(Int64)`, and that the engine of the service has, if it answers. */
  type: string
  /** Some records are without it, or have null. */
  isOptional: boolean
}

export type SourceTable = {
  sourceSchemaName: string
  sourceTable: string
  /** Columns; empty when the table has none. */
  primaryKey: string[]
  /** What the records have: as the format declares, or as the sample shows. */
  fields: SourceField[]
  /** The first records of the sample. Long values are cut; bytes that are no text are shown in base64. */
  rows: (Record<string, unknown>)[]
}

export type SchemaDiscovery = {
  /** What was done, in this order. */
  steps: {
    step: 'connect' | 'tls' | 'authenticate' | 'describe' | 'read' | 'decode' | 'fit'
    durationMs: number
  }[]
  /** What the records have: as the format declares, or as the sample shows. */
  fields: SourceField[]
  /** The first records of the sample. Long values are cut; bytes that are no text are shown in base64. */
  rows: (Record<string, unknown>)[]
  /** Of PostgreSQL, instead of `fields` and `rows`: the tables of the mappings. */
  tables: SourceTable[]
  /** Of PostgreSQL: tables that can be mapped; the first 1,000. */
  availableTables: {
    sourceSchemaName: string
    sourceTable: string
    /** Columns; empty when the table has none. */
    primaryKey: string[]
  }[]
  /** Of a pipe: what the sample does not have, or has otherwise than the columns and mappings need it. */
  misfits: string[]
}

export type CheckDestinationParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

export type DestinationCheckRequest = {
  /** Database of the service. */
  database: string
  /** Table of the service. Not for postgres, whose mappings name the tables. */
  table?: string
  /** Whether Penstock will create the table when it does not exist. */
  managedTable?: boolean
  /** All columns of the table. Postgres pipes have none. */
  columns?: Column[]
}

export type DestinationCheck = {
  databaseExists: boolean
  tableExists: boolean
  /** The databases that the user of the service can see; the first 1,000. */
  databases: string[]
  /** What a pipe with this destination would fail of. Empty: nothing was found. */
  errors: {
    /** The field of the request, as a JSON pointer. */
    pointer: string
    /** The error, and what to do. */
    detail: string
  }[]
}

export type GetOrganizationPrometheusParams = {
  /** The organization of the API key. */
  organizationId: string
}

export type GetServicePrometheusParams = {
  /** The organization of the API key. */
  organizationId: string
  /** A service of the organization. */
  serviceId: string
}

/** What Penstock refuses a request with: docs/errors.md. */
export type ProblemCode = 
  | 'invalid_json'
  | 'invalid_body'
  | 'invalid_path'
  | 'invalid_query'
  | 'invalid_header'
  | 'invalid_request'
  | 'nothing_to_update'
  | 'source_not_validated'
  | 'pipe_already_running'
  | 'pipe_cannot_resync'
  | 'engine_refuses'
  | 'unusual_endpoint_id'
  | 'unauthorized'
  | 'sign_in_failed'
  | 'role_not_allowed'
  | 'address_not_allowed'
  | 'cross_origin'
  | 'csrf_token_mismatch'
  | 'fresh_sign_in_needed'
  | 'sign_in_needed'
  | 'wrong_password'
  | 'route_not_found'
  | 'not_found'
  | 'invitation_not_valid'
  | 'private_endpoints_not_configured'
  | 'method_not_allowed'
  | 'last_admin'
  | 'already_member'
  | 'invitation_exists'
  | 'own_key'
  | 'service_has_pipes'
  | 'private_endpoint_exists'
  | 'idempotency_key_reused'
  | 'idempotency_key_in_use'
  | 'changed_meanwhile'
  | 'version_mismatch'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'too_many_requests'
  | 'too_many_failed_authentications'
  | 'internal'
  | 'engine_unavailable'
  | 'unavailable'
