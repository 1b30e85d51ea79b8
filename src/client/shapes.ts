// Generated from the list of operations: npm run generate.
// biome-ignore-all format: written by a program.
// biome-ignore-all assist/source/organizeImports: written by a program.

export type ListOrganizationsParams = {
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
}

/** Private endpoint to a service. */
export type PrivateEndpoint = {
  /** Cloud provider of the service. */
  cloudProvider: 'aws' | 'gcp' | 'azure'
  /** Description of the endpoint. */
  description: string
  /** Id of the endpoint at the cloud provider. AWS: `vpce-` and 8 or 17 hexadecimal digits. GCP: decimal digits. Azure: a resource id or a UUID. An id in another format is accepted with a `Warning` header. */
  id: string
  /** Region of the service. */
  region: string
}

/** Organization with its private endpoints. */
export type Organization = {
  /** Id of the organization. */
  id: string
  /** Display name of the organization. */
  name: string
  /** When the organization was created. */
  createdAt: string
  /** Private endpoints of the organization, newest first, at most 1000. Each has the provider and region of the first service that it was attached to. `listPrivateEndpoints` lists all private endpoints of a service. */
  privateEndpoints: PrivateEndpoint[]
}

export type GetOrganizationParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

export type UpdateOrganizationParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

/** Changes to an organization. */
export type OrganizationPatch = {
  /** Display name of the organization. */
  name?: string
}

export type ListActivitiesParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
  /** Returns only activities at or after this time. */
  from_date?: string | undefined
  /** Returns only activities before this time. */
  to_date?: string | undefined
  /** Returns only activities of this type, such as `member_role_changed`. */
  type?: string | undefined
}

/** One changed field. */
export type ActivityChange = {
  /** Path of the field, such as `settings.streaming_max_insert_wait_ms`. */
  field: string
  /** Previous value. Absent if the field had no value, and for a secret. */
  from?: unknown
  /** New value. Absent if the field was cleared; `changed` for a secret. */
  to?: unknown
}

/** One change in the organization. */
export type Activity = {
  /** Id of the activity. Ids sort by time. */
  id: string
  /** Type of the change, such as `member_role_changed`. */
  type: string
  /** When the change was made. */
  createdAt: string
  /** Who made the change. */
  actor: {
    /** `key`: an API key. `user`: a user of the console. `system`: Penstock itself. */
    type: 'key' | 'user' | 'system'
    /** `id` of the API key, or `userId` of the user. */
    id: string
    /** Current name of the API key or the user. Absent if it was deleted. */
    name?: string
  }
  /** IP address that sent the request. */
  address: string
  /** Header `User-Agent` of the request, at most 512 characters. */
  userAgent: string
  /** Id of the request, as in the header `X-Request-Id` of its response. */
  requestId: string
  /** Changed resource, with the ids of its parents, such as `serviceId`. */
  target: {
    /** Type of the resource, such as `member` or `pipe`. */
    type: string
    /** Id of the resource. */
    id: string
  }
  /** Changed fields with their previous and new values. */
  changes: ActivityChange[]
}

export type GetActivityParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the activity. */
  activityId: string
}

export type ListMembersParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
  /** Returns only members whose name or email address contains this text. The letters A to Z match in either case. */
  search?: string | undefined
}

/** Member of an organization. */
export type Member = {
  /** Id of the user, the same in every organization. */
  userId: string
  /** Name from the profile of the user. */
  name: string
  /** Email address from the profile of the user. */
  email: string
  /** `admin`: all operations. `developer`: read operations only. */
  role: 'admin' | 'developer'
  /** When the user joined the organization. */
  joinedAt: string
}

export type GetMemberParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the user, the same in every organization. */
  userId: string
}

export type UpdateMemberParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the user, the same in every organization. */
  userId: string
}

/** New role of a member. */
export type MemberPatch = {
  /** `admin`: all operations. `developer`: read operations only. */
  role: 'admin' | 'developer'
}

export type DeleteMemberParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the user, the same in every organization. */
  userId: string
}

export type ListInvitationsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
}

/** Invitation to an organization. */
export type Invitation = {
  /** Id of the invitation. */
  id: string
  /** Email address of the invited person, in lower case. */
  email: string
  /** `admin`: all operations. `developer`: read operations only. */
  role: 'admin' | 'developer'
  /** When the invitation was created. */
  createdAt: string
  /** When the link expires. */
  expireAt: string
}

export type CreateInvitationParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

/** Invitation to create. */
export type InvitationCreate = {
  /** Email address of the person to invite. */
  email: string
  /** `admin`: all operations. `developer`: read operations only. */
  role: 'admin' | 'developer'
}

/** New invitation with its link. */
export type InvitationWithLink = {
  /** Id of the invitation. */
  id: string
  /** Email address of the invited person, in lower case. */
  email: string
  /** `admin`: all operations. `developer`: read operations only. */
  role: 'admin' | 'developer'
  /** When the invitation was created. */
  createdAt: string
  /** When the link expires. */
  expireAt: string
  /** URL to accept the invitation. Send it to the invited person. Anyone with the link can join. It is returned only in this response. */
  link: string
}

export type GetInvitationParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the invitation. */
  invitationId: string
}

export type DeleteInvitationParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the invitation. */
  invitationId: string
}

export type ListKeysParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
}

/** Entry of an IP access list. */
export type IpAccess = {
  /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
  source: string
  /** Description of the address. */
  description: string
}

/** API key without its secret. */
export type Key = {
  /** Id of the key in paths. */
  id: string
  /** Key id: the user name for authentication, 20 letters and digits. The parameter `{keyId}` in paths is `id`, not this value. */
  keyId: string
  /** Display name of the key. */
  name: string
  /** Role of the key: exactly one. */
  roles: ('admin' | 'developer')[]
  /** Requests with a `disabled` key are rejected. */
  state: 'enabled' | 'disabled'
  /** When the key expires; `null`: never. */
  expireAt: string | null
  /** Addresses that may use the key; an empty list allows all. */
  ipAccessList: IpAccess[]
  /** When the key was created. */
  createdAt: string
  /** When the key was last used, to the minute; `null`: never. */
  usedAt: string | null
  /** Last four characters of the secret. */
  keySuffix: string
  /** When the secret from before the last rotation expires or expired; `null` if it expired with the rotation. */
  previousSecretValidUntil: string | null
}

export type CreateKeyParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

/** API key to create. */
export type KeyCreate = {
  /** Display name of the key. */
  name: string
  /** Role of the key: exactly one. */
  roles: ('admin' | 'developer')[]
  /** Requests with a `disabled` key are rejected. */
  state?: 'enabled' | 'disabled'
  /** When the key expires; `null`: never. */
  expireAt?: string | null
  /** Addresses that may use the key; an empty list allows all. A source must not be repeated. */
  ipAccessList?: {
    /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** Description of the address. */
    description?: string
  }[]
}

/** API key with its new secret. */
export type KeyWithSecret = {
  /** API key without its secret. */
  key: Key
  /** Key id: the user name for authentication. */
  keyId: string
  /** Key secret: the password for authentication. Store it now: it is returned only in this response. */
  keySecret: string
}

export type GetCurrentKeyParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

export type GetKeyParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** `id` of the API key, a UUID. This is not its `keyId`, which is the user name for authentication. */
  keyId: string
}

export type UpdateKeyParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** `id` of the API key, a UUID. This is not its `keyId`, which is the user name for authentication. */
  keyId: string
}

/** Changes to an API key. */
export type KeyPatch = {
  /** Display name of the key. */
  name?: string
  /** Role of the key: exactly one. */
  roles?: ('admin' | 'developer')[]
  /** Requests with a `disabled` key are rejected. */
  state?: 'enabled' | 'disabled'
  /** When the key expires; `null`: never. */
  expireAt?: string | null
  /** Addresses that may use the key; an empty list allows all. A source must not be repeated. */
  ipAccessList?: {
    /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** Description of the address. */
    description?: string
  }[]
  /** Ignored: Penstock sets it when the key is used. */
  usedAt?: string | null
}

export type DeleteKeyParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** `id` of the API key, a UUID. This is not its `keyId`, which is the user name for authentication. */
  keyId: string
}

export type RotateKeyParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** `id` of the API key, a UUID. This is not its `keyId`, which is the user name for authentication. */
  keyId: string
}

/** Options of the rotation. */
export type KeyRotation = {
  /** Time in seconds for which the current secret stays valid. Default: 0, it expires immediately. For the key that authenticates the request: at least 60, default 300. */
  graceSeconds?: number
}

export type ListServicesParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
}

/** Registered ClickHouse with the result of its last health check. */
export type Service = {
  /** Id of the service. */
  id: string
  /** Display name of the service. It need not be unique. */
  name: string
  /** Cloud provider that ClickHouse runs on. */
  provider: 'aws' | 'gcp' | 'azure'
  /** Region of the cloud provider that ClickHouse runs in. */
  region: string
  /** Result of the last health check of ClickHouse. Checks run every 30 seconds, and immediately after a change. `provisioning`: not checked yet. `running`: the last check succeeded. `degraded`: it was running, and one or two checks have failed since. `failed`: three checks have failed, it was never reached, or it rejects the user name or the password. `stopped`: it was running, three checks have failed, and connections are refused. */
  state: 'provisioning' | 'running' | 'degraded' | 'failed' | 'stopped'
  /** Reason for the state, as a sentence; `null` while the state is `running`. */
  stateReason: string | null
  /** ClickHouse version from the last successful check; `null` before the first one. */
  engineVersion: string | null
  /** Address of ClickHouse: one entry, or an empty list if no endpoint is registered. */
  endpoints: {
    /** Protocol of the HTTP interface. */
    protocol: 'http' | 'https'
    /** Host name or IP address. */
    host: string
    /** Port of the HTTP interface. */
    port: number
    /** ClickHouse user. */
    username: string
  }[]
  /** Ids of the attached private endpoints, newest first: at most 1000, in a list of services at most 10. `listPrivateEndpoints` returns all. */
  privateEndpointIds: string[]
  /** Addresses that may use ClickHouse; an empty list allows all. Penstock stores the list and does not enforce it. */
  ipAccessList: IpAccess[]
  /** When the service was registered. */
  createdAt: string
}

export type CreateServiceParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

/** ClickHouse to register. */
export type ServiceCreate = {
  /** Display name of the service. It need not be unique. */
  name: string
  /** Cloud provider that ClickHouse runs on. */
  provider: 'aws' | 'gcp' | 'azure'
  /** Region of the cloud provider that ClickHouse runs in. */
  region: string
  /** Address of ClickHouse, and the user and password to connect with. */
  endpoint: {
    /** URL of the HTTP interface of ClickHouse: `http` or `https`, a host and a port. Default port: 8123, with TLS 8443. No user name, path, query or fragment. A password requires `https`, unless the operator allows `http`. */
    url: string
    /** ClickHouse user. */
    username: string
    /** Password of the user; may be empty. It is stored encrypted and never returned. */
    password: string
  }
  /** Addresses that may use ClickHouse; an empty list allows all. Penstock stores the list and does not enforce it. A source must not be repeated. */
  ipAccessList?: {
    /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** Description of the address. */
    description?: string
  }[]
}

export type GetServiceParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

export type UpdateServiceParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** Changes to a service. */
export type ServicePatch = {
  /** Display name of the service. It need not be unique. */
  name?: string
  /** Changes of the endpoint. Fields that are not sent keep their values. A different protocol, host or port requires the password. */
  endpoint?: {
    /** URL of the HTTP interface of ClickHouse: `http` or `https`, a host and a port. Default port: 8123, with TLS 8443. No user name, path, query or fragment. A password requires `https`, unless the operator allows `http`. */
    url?: string
    /** ClickHouse user. */
    username?: string
    /** Password of the user; may be empty. It is stored encrypted and never returned. */
    password?: string
  }
  /** Private endpoints to attach and to detach, or the current list unchanged. */
  privateEndpointIds?: 
    | {
    /** Ids of private endpoints to attach. They must be registered in the organization. */
    add?: string[]
    /** Ids of private endpoints to detach. They must be attached. */
    remove?: string[]
  }
    | string[]
  /** Addresses to add to the IP access list and to remove from it, or the current list unchanged. */
  ipAccessList?: 
    | {
    /** Addresses to add. A source that is in the list already gets the new description. A source must not be repeated. */
    add?: {
      /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
      source: string
      /** Description of the address. */
      description?: string
    }[]
    /** Addresses to remove. They must be in the list. A source must not be repeated. */
    remove?: {
      /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
      source: string
    }[]
  }
    | {
    /** IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`. */
    source: string
    /** Description of the address. */
    description?: string
  }[]
  /** Ignored: the health checks set it. */
  state?: 'provisioning' | 'running' | 'degraded' | 'failed' | 'stopped'
  /** Ignored: the health checks set it. */
  stateReason?: string | null
  /** Ignored: the health checks set it. */
  engineVersion?: string | null
}

export type DeleteServiceParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

export type ListServiceTablesParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** Table of a service. */
export type ServiceTable = {
  /** Database of the table. */
  database: string
  /** Name of the table. */
  table: string
  /** Table engine, such as `MergeTree` or `View`. */
  engine: string
  /** Number of rows, including older versions and deleted rows that ClickHouse has not merged yet; `null` if ClickHouse does not count them, for example in a view. */
  rows: number | null
  /** Compressed size on disk in bytes; `null` if ClickHouse does not report it, for example for a view. */
  bytes: number | null
}

export type GetPrivateEndpointConfigParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** Endpoint service that private endpoints connect to. */
export type PrivateEndpointConfig = {
  /** Endpoint service to connect a private endpoint to. */
  endpointServiceId: string
  /** DNS name of ClickHouse over the private endpoint. */
  privateDnsHostname: string
}

export type ListPrivateEndpointsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
}

export type CreatePrivateEndpointParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Whether to reject an id that does not have the format of the provider. */
  strict?: boolean | undefined
}

/** Private endpoint to attach. */
export type PrivateEndpointCreate = {
  /** Description of the endpoint. */
  description?: string
  /** Id of the endpoint at the cloud provider. AWS: `vpce-` and 8 or 17 hexadecimal digits. GCP: decimal digits. Azure: a resource id or a UUID. An id in another format is accepted with a `Warning` header. */
  id: string
}

export type DeletePrivateEndpointParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of a private endpoint that is attached to the service. */
  privateEndpointId: string
}

export type ListPipesParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Maximum number of items in the response. */
  limit?: number | undefined
  /** Position of the page, from the `Link` header of the previous page. */
  cursor?: string | undefined
  /** Returns only pipes in this state. */
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

/** Definition of a table that Penstock creates. */
export type TableDefinition = {
  /** Table engine and its parameters. */
  engine: {
    /** ClickHouse table engine. */
    type: 'MergeTree' | 'ReplacingMergeTree' | 'SummingMergeTree' | 'Null'
    /** Columns that a `SummingMergeTree` sums. */
    columnIds?: string[]
    /** Version column of a `ReplacingMergeTree`. The row with the highest version is kept. */
    versionColumnId?: string
  }
  /** Partition key expression, as in `PARTITION BY`. */
  partitionBy?: string
  /** Primary key expression, as in `PRIMARY KEY`. */
  primaryKey?: string
  /** Columns of the sorting key, as in `ORDER BY`. */
  sortingKey?: string[]
}

/** Column of the destination table. */
export type Column = {
  /** Column name, unique in the table. */
  name: string
  /** ClickHouse data type, such as `UInt64` or `Nullable(String)`. */
  type: string
}

/** Database, table and columns that the pipe writes to. */
export type PipeDestination = {
  /** ClickHouse database. */
  database: string
  /** Destination table. Not for PostgreSQL, where `tableMappings` has the tables. */
  table?: string
  /** Definition of a table that Penstock creates. */
  tableDefinition?: TableDefinition
  /** `true`: Penstock creates the table and adds missing columns; requires `tableDefinition`. `false`: the table must exist and is not altered. */
  managedTable?: boolean
  /** Columns that the pipe writes. A new list replaces the current one. */
  columns: Column[]
}

/** Maps a field of the source to a column. */
export type FieldMapping = {
  /** Destination column. */
  destinationField: string
  /** Field of the source record. */
  sourceField: string
}

/** Number and size of the replicas of the pipe. */
export type PipeScaling = {
  /** Concurrent inserts of each replica; 0: Penstock decides. */
  concurrency: number
  /** Number of workers that divide the partitions, shards or files. A PostgreSQL pipe has one worker. */
  replicas: number
  /** CPU weight of each replica. On a busy runner, replicas get processor time in this proportion. */
  replicaCpuMillicores: number
  /** Memory of each replica in GB. It limits how much data a replica reads ahead. */
  replicaMemoryGb: number
}

/** Settings of the pipe, with the values in effect. */
export type PipeSettings = {
  /** ClickHouse setting `max_download_threads`: maximum number of threads that download data. */
  engine_max_download_threads: number
  /** ClickHouse setting `max_insert_threads`: maximum number of threads for an insert; 0: ClickHouse decides. */
  engine_max_insert_threads: number
  /** ClickHouse setting `max_threads`: maximum number of query processing threads; 0: ClickHouse decides. */
  engine_max_threads: number
  /** ClickHouse setting `min_insert_block_size_bytes`: minimum size in bytes of an inserted block. Smaller blocks are combined. */
  engine_min_insert_block_size_bytes: number
  /** ClickHouse setting `parallel_distributed_insert_select`. 0: not parallel. 1: each shard runs the SELECT. 2: each shard runs both, INSERT and SELECT. */
  engine_parallel_distributed_insert_select: number
  /** ClickHouse setting `parallel_view_processing`: whether to push to attached materialized views in parallel. */
  engine_parallel_view_processing: boolean
  /** Object storage: number of concurrent inserts, unless `scaling.concurrency` is set. */
  object_storage_concurrency: number
  /** Object storage: maximum number of files in one insert. */
  object_storage_max_file_count: number
  /** Object storage: maximum number of bytes in one insert. A larger file is divided. */
  object_storage_max_insert_bytes: number
  /** Object storage: time in milliseconds between two listings for new files. */
  object_storage_polling_interval_ms: number
  /** Object storage: whether all replicas of the pipe load files. `false`: one replica loads all files. */
  object_storage_use_cluster_function: boolean
  /** Kafka and Kinesis: maximum time in milliseconds from the first record of a batch to its insert. */
  streaming_max_insert_wait_ms: number
}

/** Kafka source. */
export type KafkaSource = {
  /** Kafka vendor or service. */
  type: 'kafka' | 'redpanda' | 'msk' | 'confluent' | 'warpstream' | 'azureeventhub' | 'dokafka'
  /** Authentication mechanism. It determines the required credentials. */
  authentication: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'IAM_ROLE' | 'IAM_USER' | 'MUTUAL_TLS'
  /** Bootstrap brokers as `host:port`, separated by commas. */
  brokers: string
  /** Names of the topics, separated by commas. */
  topics: string
  /** Format of the records. `AvroConfluent` and `Protobuf` need `schemaRegistry`. */
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'
  /** Kafka consumer group under which offsets are committed. Default: `penstock-` and the id of the pipe. */
  consumerGroup?: string
  /** Where to start reading in a topic that the pipe has not read yet. */
  offset?: {
    /** Earliest offset, latest offset, or the first record at or after `timestamp`. */
    strategy: 'from_beginning' | 'from_latest' | 'from_timestamp'
    /** Timestamp `YYYY-MM-DDTHH:MM` in UTC. Required for `from_timestamp`, not allowed otherwise. */
    timestamp?: string
  }
  /** CA certificates of the server in PEM format. `validateSamples` checks them. */
  caCertificate?: string
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string
  /** Ids of reverse private endpoints that the operator has configured, to connect to the brokers. A new list replaces the current one. */
  reversePrivateEndpointIds?: string[]
  /** Schema registry, for `AvroConfluent` and `Protobuf`. */
  schemaRegistry?: {
    /** URL of the schema registry: `http` or `https`, without user name and password. */
    url: string
    /** Authentication at the schema registry: user name and password. Default: `PLAIN` if credentials are sent, otherwise no authentication. */
    authentication?: 'PLAIN'
    /** CA certificates of the server in PEM format. `validateSamples` checks them. */
    caCertificate?: string
  }
}

/** Kinesis source. */
export type KinesisSource = {
  /** Authentication: `IAM_ROLE` requires `iamRole`, `IAM_USER` requires `accessKey`. */
  authentication: 'IAM_ROLE' | 'IAM_USER'
  /** Format of the records. `AvroConfluent` is accepted but not supported: the pipe fails when it starts. */
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent'
  /** Where to start reading in a stream that the pipe has not read yet, as in the Kinesis API. */
  iteratorType: 'TRIM_HORIZON' | 'LATEST' | 'AT_TIMESTAMP'
  /** AWS region of the stream. */
  region: string
  /** Name of the Kinesis data stream. */
  streamName: string
  /** Unix timestamp in seconds. Required for `AT_TIMESTAMP`, not allowed otherwise. */
  timestamp?: number
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string
  /** Whether to register a consumer with enhanced fan-out. `false`: the pipe polls the stream. */
  useEnhancedFanOut?: boolean
}

/** Object storage source. */
export type ObjectStorageSource = {
  /** Object storage service. */
  type: 's3' | 'gcs' | 'azureblobstorage' | 'dospaces'
  /** Format of the objects. */
  format: 
    | 'JSONEachRow'
    | 'CSV'
    | 'CSVWithNames'
    | 'TabSeparated'
    | 'TabSeparatedWithNames'
    | 'Parquet'
    | 'Avro'
  /** Authentication. `CONNECTION_STRING` is for `azureblobstorage`. Omit it for public objects. */
  authentication?: 'IAM_ROLE' | 'IAM_USER' | 'CONNECTION_STRING'
  /** Azure container, for `azureblobstorage`. */
  azureContainerName?: string
  /** Field delimiter of `CSV` and `CSVWithNames`. */
  delimiter?: string
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string
  /** Path or glob pattern of the objects in the container, for `azureblobstorage`. */
  path?: string
  /** URL of a queue with notifications about new objects: Amazon SQS for `s3`, Azure Queue Storage for `azureblobstorage`. Requires `isContinuous`. No other consumer may read the queue. */
  queueUrl?: string
  /** URL or glob pattern of the objects. Required, except for `azureblobstorage`, where it is not allowed. */
  url?: string
  /** Compression of the objects. `auto`: detected from the extension and the first bytes. */
  compression: 'auto' | 'none' | 'gzip' | 'gz' | 'brotli' | 'br' | 'xz' | 'LZMA' | 'zstd'
  /** Azure connection string with masked secrets (`***`). */
  connectionString?: string
  /** `true`: load new objects continuously. `false`: load the existing objects, then the pipe is `Completed`. */
  isContinuous: boolean
  /** Whether existing objects are skipped and only objects that the queue announces are loaded. Absent unless it is `true`. */
  skipInitialLoad?: boolean
}

/** Table to replicate and its destination table. */
export type TableMapping = {
  /** PostgreSQL schema of the source table. */
  sourceSchemaName: string
  /** Source table in PostgreSQL. */
  sourceTable: string
  /** Destination table in ClickHouse, unique in the pipe. */
  targetTable: string
  /** Engine of the destination table. `ReplacingMergeTree`: a copy of the source table. `MergeTree`: a log of its changes. */
  tableEngine: 'MergeTree' | 'ReplacingMergeTree' | 'Null'
  /** Whether `sortingKeys` precede the primary key in the sorting key. */
  useCustomSortingKey: boolean
  /** Columns before the primary key in the sorting key. */
  sortingKeys: string[]
  /** Columns that are not replicated. */
  excludedColumns: string[]
}

/** PostgreSQL source. */
export type PostgresSource = {
  /** Host name or IP address of the server. */
  host: string
  /** TCP port of the server. */
  port: number
  /** PostgreSQL database. */
  database: string
  /** Settings of the initial load and of change data capture (CDC). */
  settings: {
    /** Whether columns that can be NULL are created as `Nullable`. */
    allowNullableColumns: boolean
    /** Whether to create a failover replication slot, which is synchronized to standbys. Not allowed with `replicationSlotName`. */
    enableFailoverSlots: boolean
    /** Number of connections that load one table in parallel. */
    initialLoadParallelism: number
    /** Existing publication to use. Default: Penstock creates one. */
    publicationName?: string
    /** Maximum number of changes in one batch. A batch ends at the end of a transaction. */
    pullBatchSize: number
    /** `cdc`: initial load, then change data capture (CDC). `snapshot`: load once. `cdc_only`: CDC without initial load. */
    replicationMode: 'cdc' | 'snapshot' | 'cdc_only'
    /** Existing replication slot to use. Only for `cdc_only`. Default: Penstock creates one. */
    replicationSlotName?: string
    /** Number of rows in one range of the initial load. */
    snapshotNumRowsPerPartition: number
    /** Number of tables that are loaded in parallel. */
    snapshotNumberOfParallelTables: number
    /** Maximum time in seconds between two batches. */
    syncIntervalSeconds: number
  }
  /** Tables to replicate and their destination tables. */
  tableMappings: TableMapping[]
}

/** Data pipe without its secrets. */
export type Pipe = {
  /** Id of the pipe. */
  id: string
  /** Id of the service that the pipe writes to. */
  serviceId: string
  /** Display name of the pipe. */
  name: string
  /** State of the pipe. Commands and the runner change it; an update cannot. */
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
  /** When the pipe was created. */
  createdAt: string
  /** When an update or a command last changed the pipe. State changes by the runner do not count. */
  updatedAt: string
  /** Database, table and columns that the pipe writes to. */
  destination: PipeDestination
  /** Maps source fields to columns with different names. Columns without a mapping are filled by name. A new list replaces the current one. */
  fieldMappings: FieldMapping[]
  /** Number and size of the replicas of the pipe. */
  scaling: PipeScaling
  /** Settings of the pipe, with the values in effect. */
  settings: PipeSettings
  /** Source of the pipe: one field, named after the kind of the pipe. Secrets are never returned. */
  source: {
    /** Kafka source. */
    kafka?: KafkaSource
    /** Kinesis source. */
    kinesis?: KinesisSource
    /** Object storage source. */
    objectStorage?: ObjectStorageSource
    /** PostgreSQL source. */
    postgres?: PostgresSource
  }
}

export type CreatePipeParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** Kafka source with its credentials. */
export type KafkaSourceCreate = {
  /** Kafka vendor or service. */
  type: 'kafka' | 'redpanda' | 'msk' | 'confluent' | 'warpstream' | 'azureeventhub' | 'dokafka'
  /** Authentication mechanism. It determines the required credentials. */
  authentication: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'IAM_ROLE' | 'IAM_USER' | 'MUTUAL_TLS'
  /** Bootstrap brokers as `host:port`, separated by commas. */
  brokers: string
  /** Names of the topics, separated by commas. */
  topics: string
  /** Format of the records. `AvroConfluent` and `Protobuf` need `schemaRegistry`. */
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'
  /** Kafka consumer group under which offsets are committed. Default: `penstock-` and the id of the pipe. */
  consumerGroup?: string
  /** Where to start reading in a topic that the pipe has not read yet. */
  offset?: {
    /** Earliest offset, latest offset, or the first record at or after `timestamp`. */
    strategy: 'from_beginning' | 'from_latest' | 'from_timestamp'
    /** Timestamp `YYYY-MM-DDTHH:MM` in UTC. Required for `from_timestamp`, not allowed otherwise. */
    timestamp?: string
  }
  /** CA certificates of the server in PEM format. `validateSamples` checks them. */
  caCertificate?: string
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string
  /** Ids of reverse private endpoints that the operator has configured, to connect to the brokers. A new list replaces the current one. */
  reversePrivateEndpointIds?: string[]
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  credentials?: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
    /** AWS access key ID, for `IAM_USER`. */
    accessKeyId?: string
    /** AWS secret access key, for `IAM_USER`. */
    secretKey?: string
    /** Client certificate in PEM format, for `MUTUAL_TLS`. */
    certificate?: string
    /** Private key of the client certificate in PEM format, not encrypted. */
    privateKey?: string
    /** Connection string of Azure Event Hubs, for `azureeventhub`. It replaces user name and password. */
    connectionString?: string
  }
  /** Schema registry, for `AvroConfluent` and `Protobuf`. */
  schemaRegistry?: {
    /** URL of the schema registry: `http` or `https`, without user name and password. */
    url: string
    /** Authentication at the schema registry: user name and password. Default: `PLAIN` if credentials are sent, otherwise no authentication. */
    authentication?: 'PLAIN'
    /** CA certificates of the server in PEM format. `validateSamples` checks them. */
    caCertificate?: string
    /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
    credentials?: {
      /** User name. */
      username?: string
      /** Password. */
      password?: string
    }
  }
}

/** Kinesis source with its credentials. */
export type KinesisSourceCreate = {
  /** Authentication: `IAM_ROLE` requires `iamRole`, `IAM_USER` requires `accessKey`. */
  authentication: 'IAM_ROLE' | 'IAM_USER'
  /** Format of the records. `AvroConfluent` is accepted but not supported: the pipe fails when it starts. */
  format: 'JSONEachRow' | 'Avro' | 'AvroConfluent'
  /** Where to start reading in a stream that the pipe has not read yet, as in the Kinesis API. */
  iteratorType: 'TRIM_HORIZON' | 'LATEST' | 'AT_TIMESTAMP'
  /** AWS region of the stream. */
  region: string
  /** Name of the Kinesis data stream. */
  streamName: string
  /** Unix timestamp in seconds. Required for `AT_TIMESTAMP`, not allowed otherwise. */
  timestamp?: number
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  accessKey?: {
    /** AWS access key ID, for `IAM_USER`. */
    accessKeyId?: string
    /** AWS secret access key, for `IAM_USER`. */
    secretKey?: string
  }
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string
  /** Whether to register a consumer with enhanced fan-out. `false`: the pipe polls the stream. */
  useEnhancedFanOut?: boolean
}

/** Object storage source with its credentials. */
export type ObjectStorageSourceCreate = {
  /** Object storage service. */
  type: 's3' | 'gcs' | 'azureblobstorage' | 'dospaces'
  /** Format of the objects. */
  format: 
    | 'JSONEachRow'
    | 'CSV'
    | 'CSVWithNames'
    | 'TabSeparated'
    | 'TabSeparatedWithNames'
    | 'Parquet'
    | 'Avro'
  /** Authentication. `CONNECTION_STRING` is for `azureblobstorage`. Omit it for public objects. */
  authentication?: 'IAM_ROLE' | 'IAM_USER' | 'CONNECTION_STRING'
  /** Azure container, for `azureblobstorage`. */
  azureContainerName?: string
  /** Field delimiter of `CSV` and `CSVWithNames`. */
  delimiter?: string
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string
  /** Path or glob pattern of the objects in the container, for `azureblobstorage`. */
  path?: string
  /** URL of a queue with notifications about new objects: Amazon SQS for `s3`, Azure Queue Storage for `azureblobstorage`. Requires `isContinuous`. No other consumer may read the queue. */
  queueUrl?: string
  /** URL or glob pattern of the objects. Required, except for `azureblobstorage`, where it is not allowed. */
  url?: string
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  accessKey?: {
    /** AWS access key ID, for `IAM_USER`. */
    accessKeyId?: string
    /** AWS secret access key, for `IAM_USER`. */
    secretKey?: string
  }
  /** Compression of the objects. `auto`: detected from the extension and the first bytes. */
  compression?: 'auto' | 'none' | 'gzip' | 'gz' | 'brotli' | 'br' | 'xz' | 'LZMA' | 'zstd'
  /** Azure connection string: `name=value` parts, separated by `;`. Responses mask its secrets (`AccountKey=`, `SharedAccessSignature=`, `sig=`) and unknown parts as `***`. */
  connectionString?: string
  /** `true`: load new objects continuously. `false`: load the existing objects, then the pipe is `Completed`. */
  isContinuous?: boolean
  /** Whether to skip existing objects and load only objects that the queue announces. Requires `queueUrl`. */
  skipInitialLoad?: boolean
}

/** Table to replicate and its destination table. */
export type TableMappingToAdd = {
  /** PostgreSQL schema of the source table. */
  sourceSchemaName: string
  /** Source table in PostgreSQL. */
  sourceTable: string
  /** Destination table in ClickHouse, unique in the pipe. */
  targetTable: string
  /** Engine of the destination table. `ReplacingMergeTree`: a copy of the source table. `MergeTree`: a log of its changes. */
  tableEngine?: 'MergeTree' | 'ReplacingMergeTree' | 'Null'
  /** Whether `sortingKeys` precede the primary key in the sorting key. Requires `sortingKeys`. */
  useCustomSortingKey?: boolean
  /** Columns before the primary key in the sorting key. */
  sortingKeys?: string[]
  /** Columns that are not replicated. */
  excludedColumns?: string[]
}

/** PostgreSQL source with its credentials. */
export type PostgresSourceCreate = {
  /** Host name or IP address of the server. */
  host: string
  /** TCP port of the server. */
  port?: number
  /** PostgreSQL database. */
  database: string
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  credentials: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
  }
  /** Settings of the initial load and of change data capture (CDC). */
  settings?: {
    /** Whether columns that can be NULL are created as `Nullable`. */
    allowNullableColumns?: boolean
    /** Whether to create a failover replication slot, which is synchronized to standbys. Not allowed with `replicationSlotName`. */
    enableFailoverSlots?: boolean
    /** Number of connections that load one table in parallel. */
    initialLoadParallelism?: number
    /** Existing publication to use. Default: Penstock creates one. */
    publicationName?: string
    /** Maximum number of changes in one batch. A batch ends at the end of a transaction. */
    pullBatchSize?: number
    /** `cdc`: initial load, then change data capture (CDC). `snapshot`: load once. `cdc_only`: CDC without initial load. */
    replicationMode?: 'cdc' | 'snapshot' | 'cdc_only'
    /** Existing replication slot to use. Only for `cdc_only`. Default: Penstock creates one. */
    replicationSlotName?: string
    /** Number of rows in one range of the initial load. */
    snapshotNumRowsPerPartition?: number
    /** Number of tables that are loaded in parallel. */
    snapshotNumberOfParallelTables?: number
    /** Maximum time in seconds between two batches. */
    syncIntervalSeconds?: number
  }
  /** Tables to replicate and their destination tables. */
  tableMappings: TableMappingToAdd[]
}

/** Database, table and columns that the pipe writes to. */
export type PipeDestinationCreate = {
  /** ClickHouse database. */
  database: string
  /** Destination table. Not for PostgreSQL, where `tableMappings` has the tables. */
  table?: string
  /** Definition of a table that Penstock creates. */
  tableDefinition?: TableDefinition
  /** `true`: Penstock creates the table and adds missing columns; requires `tableDefinition`. `false`: the table must exist and is not altered. Not for PostgreSQL. */
  managedTable?: boolean
  /** Columns that the pipe writes. Not for PostgreSQL. */
  columns?: Column[]
}

/** Number and size of the replicas of the pipe. Fields that are not sent have their defaults. */
export type PipeScalingCreate = {
  /** Concurrent inserts of each replica; 0: Penstock decides. */
  concurrency?: number
  /** Number of workers that divide the partitions, shards or files. A PostgreSQL pipe has one worker. */
  replicas?: number
  /** CPU weight of each replica. On a busy runner, replicas get processor time in this proportion. */
  replicaCpuMillicores?: number
  /** Memory of each replica in GB. It limits how much data a replica reads ahead. */
  replicaMemoryGb?: number
}

/** Settings of the pipe. Settings that are not sent have their defaults. */
export type PipeSettingsCreate = {
  /** ClickHouse setting `max_download_threads`: maximum number of threads that download data. */
  engine_max_download_threads?: number
  /** ClickHouse setting `max_insert_threads`: maximum number of threads for an insert; 0: ClickHouse decides. */
  engine_max_insert_threads?: number
  /** ClickHouse setting `max_threads`: maximum number of query processing threads; 0: ClickHouse decides. */
  engine_max_threads?: number
  /** ClickHouse setting `min_insert_block_size_bytes`: minimum size in bytes of an inserted block. Smaller blocks are combined. */
  engine_min_insert_block_size_bytes?: number
  /** ClickHouse setting `parallel_distributed_insert_select`. 0: not parallel. 1: each shard runs the SELECT. 2: each shard runs both, INSERT and SELECT. */
  engine_parallel_distributed_insert_select?: number
  /** ClickHouse setting `parallel_view_processing`: whether to push to attached materialized views in parallel. */
  engine_parallel_view_processing?: boolean
  /** Object storage: number of concurrent inserts, unless `scaling.concurrency` is set. */
  object_storage_concurrency?: number
  /** Object storage: maximum number of files in one insert. */
  object_storage_max_file_count?: number
  /** Object storage: maximum number of bytes in one insert. A larger file is divided. */
  object_storage_max_insert_bytes?: number
  /** Object storage: time in milliseconds between two listings for new files. */
  object_storage_polling_interval_ms?: number
  /** Object storage: whether all replicas of the pipe load files. `false`: one replica loads all files. */
  object_storage_use_cluster_function?: boolean
  /** Kafka and Kinesis: maximum time in milliseconds from the first record of a batch to its insert. */
  streaming_max_insert_wait_ms?: number
}

/** Data pipe to create. */
export type PipeCreate = {
  /** Display name of the pipe. */
  name: string
  /** Source of the pipe: exactly one of `kafka`, `kinesis`, `objectStorage` and `postgres`. */
  source: {
    /** Kafka source with its credentials. */
    kafka?: KafkaSourceCreate
    /** Kinesis source with its credentials. */
    kinesis?: KinesisSourceCreate
    /** Object storage source with its credentials. */
    objectStorage?: ObjectStorageSourceCreate
    /** PostgreSQL source with its credentials. */
    postgres?: PostgresSourceCreate
    /** Whether to connect to the source and check a sample before the pipe is created. */
    validateSamples?: boolean
  }
  /** Database, table and columns that the pipe writes to. */
  destination: PipeDestinationCreate
  /** Maps source fields to columns with different names. Columns without a mapping are filled by name. A new list replaces the current one. */
  fieldMappings?: FieldMapping[]
  /** Number and size of the replicas of the pipe. Fields that are not sent have their defaults. */
  scaling?: PipeScalingCreate
  /** Settings of the pipe. Settings that are not sent have their defaults. */
  settings?: PipeSettingsCreate
  /** Whether to create the pipe without starting it. The command `start` starts it. */
  startPaused?: boolean
}

export type GetPipeParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

export type UpdatePipeParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

/** Settings to change; `null` resets a setting to its default. */
export type PipeSettingsPatch = {
  /** ClickHouse setting `max_download_threads`: maximum number of threads that download data. */
  engine_max_download_threads?: number | null
  /** ClickHouse setting `max_insert_threads`: maximum number of threads for an insert; 0: ClickHouse decides. */
  engine_max_insert_threads?: number | null
  /** ClickHouse setting `max_threads`: maximum number of query processing threads; 0: ClickHouse decides. */
  engine_max_threads?: number | null
  /** ClickHouse setting `min_insert_block_size_bytes`: minimum size in bytes of an inserted block. Smaller blocks are combined. */
  engine_min_insert_block_size_bytes?: number | null
  /** ClickHouse setting `parallel_distributed_insert_select`. 0: not parallel. 1: each shard runs the SELECT. 2: each shard runs both, INSERT and SELECT. */
  engine_parallel_distributed_insert_select?: number | null
  /** ClickHouse setting `parallel_view_processing`: whether to push to attached materialized views in parallel. */
  engine_parallel_view_processing?: boolean | null
  /** Object storage: number of concurrent inserts, unless `scaling.concurrency` is set. */
  object_storage_concurrency?: number | null
  /** Object storage: maximum number of files in one insert. */
  object_storage_max_file_count?: number | null
  /** Object storage: maximum number of bytes in one insert. A larger file is divided. */
  object_storage_max_insert_bytes?: number | null
  /** Object storage: time in milliseconds between two listings for new files. */
  object_storage_polling_interval_ms?: number | null
  /** Object storage: whether all replicas of the pipe load files. `false`: one replica loads all files. */
  object_storage_use_cluster_function?: boolean | null
  /** Kafka and Kinesis: maximum time in milliseconds from the first record of a batch to its insert. */
  streaming_max_insert_wait_ms?: number | null
}

/** Changes to a Kafka source. Fields that are not listed here, such as the schema registry, cannot be changed. */
export type KafkaSourcePatch = {
  /** Authentication mechanism. It determines the required credentials. */
  authentication?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'IAM_ROLE' | 'IAM_USER' | 'MUTUAL_TLS'
  /** CA certificates of the server in PEM format. `validateSamples` checks them. */
  caCertificate?: string | null
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  credentials?: 
    | {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
    /** AWS access key ID, for `IAM_USER`. */
    accessKeyId?: string
    /** AWS secret access key, for `IAM_USER`. */
    secretKey?: string
    /** Client certificate in PEM format, for `MUTUAL_TLS`. */
    certificate?: string
    /** Private key of the client certificate in PEM format, not encrypted. */
    privateKey?: string
    /** Connection string of Azure Event Hubs, for `azureeventhub`. It replaces user name and password. */
    connectionString?: string
  }
    | null
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string | null
  /** Ids of reverse private endpoints that the operator has configured, to connect to the brokers. A new list replaces the current one. */
  reversePrivateEndpointIds?: string[] | null
}

/** Changes to a Kinesis source. */
export type KinesisSourcePatch = {
  /** Authentication: `IAM_ROLE` requires `iamRole`, `IAM_USER` requires `accessKey`. */
  authentication?: 'IAM_ROLE' | 'IAM_USER'
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  accessKey?: 
    | {
    /** AWS access key ID, for `IAM_USER`. */
    accessKeyId?: string
    /** AWS secret access key, for `IAM_USER`. */
    secretKey?: string
  }
    | null
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string | null
}

/** Changes to an object storage source; `null` clears a field. */
export type ObjectStorageSourcePatch = {
  /** Authentication. `CONNECTION_STRING` is for `azureblobstorage`. Omit it for public objects. */
  authentication?: 'IAM_ROLE' | 'IAM_USER' | 'CONNECTION_STRING' | null
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  accessKey?: 
    | {
    /** AWS access key ID, for `IAM_USER`. */
    accessKeyId?: string
    /** AWS secret access key, for `IAM_USER`. */
    secretKey?: string
  }
    | null
  /** Azure container, for `azureblobstorage`. */
  azureContainerName?: string | null
  /** Azure connection string: `name=value` parts, separated by `;`. Responses mask its secrets (`AccountKey=`, `SharedAccessSignature=`, `sig=`) and unknown parts as `***`. */
  connectionString?: string | null
  /** IAM role that Penstock assumes, for `IAM_ROLE`. */
  iamRole?: string | null
  /** Path or glob pattern of the objects in the container, for `azureblobstorage`. */
  path?: string | null
}

/** Table to stop replicating. */
export type TableMappingToRemove = {
  /** PostgreSQL schema of the source table. */
  sourceSchemaName: string
  /** Source table in PostgreSQL. */
  sourceTable: string
  /** Destination table of the mapping. Optional; if sent, it must match. */
  targetTable?: string
}

/** Changes to a PostgreSQL source. */
export type PostgresSourcePatch = {
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  credentials?: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
  }
  /** PostgreSQL database. */
  database?: string
  /** Host name or IP address of the server. */
  host?: string
  /** TCP port of the server. */
  port?: number
  /** Settings to change; `null` resets a setting to its default. */
  settings?: {
    /** Maximum number of changes in one batch. A batch ends at the end of a transaction. */
    pullBatchSize?: number | null
    /** Maximum time in seconds between two batches. */
    syncIntervalSeconds?: number | null
  }
  /** Tables to start replicating. Added after `tableMappingsToRemove` is applied. */
  tableMappingsToAdd?: TableMappingToAdd[]
  /** Tables to stop replicating. Applied before `tableMappingsToAdd`. */
  tableMappingsToRemove?: TableMappingToRemove[]
}

/** Changes to a data pipe. */
export type PipePatch = {
  /** Display name of the pipe. */
  name?: string
  /** Changes to the destination: only its columns can be changed. */
  destination?: {
    /** Columns that the pipe writes. A new list replaces the current one. */
    columns?: Column[]
  }
  /** Maps source fields to columns with different names. Columns without a mapping are filled by name. A new list replaces the current one. */
  fieldMappings?: FieldMapping[]
  /** Settings to change; `null` resets a setting to its default. */
  settings?: PipeSettingsPatch
  /** Changes to the source: only the field named after the kind of the pipe. */
  source?: {
    /** Changes to a Kafka source. Fields that are not listed here, such as the schema registry, cannot be changed. */
    kafka?: KafkaSourcePatch
    /** Changes to a Kinesis source. */
    kinesis?: KinesisSourcePatch
    /** Changes to an object storage source; `null` clears a field. */
    objectStorage?: ObjectStorageSourcePatch
    /** Changes to a PostgreSQL source. */
    postgres?: PostgresSourcePatch
    /** Whether to connect to the source with the changed configuration and check a sample before the pipe is changed. */
    validateSamples?: boolean
  }
}

export type DeletePipeParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

export type GetPipeSettingsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

export type UpdatePipeSettingsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

export type UpdatePipeScalingParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

/** Fields to change; `null` resets a field to its default. */
export type PipeScalingPatch = {
  /** Concurrent inserts of each replica; 0: Penstock decides. */
  concurrency?: number | null
  /** Number of workers that divide the partitions, shards or files. A PostgreSQL pipe has one worker. */
  replicas?: number | null
  /** CPU weight of each replica. On a busy runner, replicas get processor time in this proportion. */
  replicaCpuMillicores?: number | null
  /** Memory of each replica in GB. It limits how much data a replica reads ahead. */
  replicaMemoryGb?: number | null
}

export type UpdatePipeStateParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

/** Command to a pipe. */
export type PipeStatePatch = {
  /** `start`: starts the pipe. `stop`: stops it. `resync`: reloads all tables of a PostgreSQL pipe. */
  command: 'start' | 'stop' | 'resync'
}

export type GetPipeMetricsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

/** Progress of one table of a PostgreSQL pipe. */
export type PipeTable = {
  /** PostgreSQL schema of the source table. */
  sourceSchemaName: string
  /** Source table in PostgreSQL. */
  sourceTable: string
  /** Destination table in ClickHouse. A resync loads into a temporary table with another name. */
  targetTable: string
  /** `waiting`: the initial load has not started. `loading`: the initial load is running. `following`: change data capture (CDC) is active. `loaded`: the load is complete and CDC is not used. */
  state: 'waiting' | 'loading' | 'following' | 'loaded'
  /** Whether this is a resync: after the load, the table replaces the existing one. */
  isResync: boolean
  /** Rows that the initial load has inserted, without changes from CDC. */
  rowsLoaded: number
  /** Number of rows in the source table, as PostgreSQL estimates it; `null` if unknown. */
  rowsEstimated: number | null
  /** Progress of the initial load in percent; `null` if unknown. */
  percent: number | null
  /** Estimated time in seconds until the load is complete; `null` if the table is not being loaded. */
  secondsLeft: number | null
}

/** Throughput of a pipe in one minute. */
export type PipeThroughput = {
  /** Start of the minute. */
  minute: string
  /** Records or rows that were read from the source. */
  rowsRead: number
  /** Bytes that were read from the source, in its format. */
  bytesRead: number
  /** Rows that ClickHouse accepted. */
  rowsWritten: number
  /** Rows that ClickHouse rejected. */
  rowsRefused: number
}

/** State, progress and throughput of a pipe. */
export type PipeMetrics = {
  /** State of the pipe. Commands and the runner change it; an update cannot. */
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
  /** Reason for the state, as a sentence; `null` if there is no problem. */
  stateReason: string | null
  /** Current activity, as a sentence. */
  doing: string
  /** Delivery guarantee. `at_least_once`: rows can be duplicated after a failure. `null` before the pipe has run. */
  delivery: 'exactly_once' | 'at_least_once' | null
  /** Why the delivery guarantee is not `exactly_once`, and what to change; otherwise `null`. */
  deliveryReason: string | null
  /** Records or rows that were read since the pipe was created. */
  rowsRead: number
  /** Bytes that were read from the source, in its format. */
  bytesRead: number
  /** Rows that ClickHouse accepted. */
  rowsWritten: number
  /** Bytes that were sent to ClickHouse. */
  bytesWritten: number
  /** Rows that ClickHouse rejected. They are kept in the error table. */
  rowsRefused: number
  /** Batches that were inserted. */
  inserts: number
  /** Failed attempts that were retried. */
  retries: number
  /** Lag: records or files in the source that are not loaded yet; `null` if unknown. */
  lag: number | null
  /** Bytes of write-ahead log (WAL) that the source retains for the pipe, as last reported; `null` if unknown or not applicable to the source. */
  retainedBytes: number | null
  /** Age in seconds of the data in ClickHouse: time since the newest delivered record, or since the source had no more data. It grows while nothing is delivered. `null` if unknown, and for a `Completed` pipe. */
  freshnessSeconds: number | null
  /** When the last batch was inserted; `null` before the first one. */
  lastInsertAt: string | null
  /** Last error, as a sentence; `null` after its cause is gone or the pipe was started again. */
  lastError: string | null
  /** When the last error occurred; `null` if there is no error. */
  lastErrorAt: string | null
  /** When the pending replay of rejected rows was requested; `null` if no replay is pending. */
  replayRequestedAt: string | null
  /** Running workers, at most `scaling.replicas`. */
  workers: {
    /** Worker index: number of the worker within the pipe, from 0. */
    slot: number
    /** Current activity of the worker, as a sentence. */
    doing: string
    /** Lag of the worker: records or files that are not loaded yet; `null` if unknown. */
    lag: number | null
  }[]
  /** Progress of each table of a PostgreSQL pipe, in the order of its mappings; empty for other pipes. */
  tables: PipeTable[]
  /** Throughput by minute of the last hour, oldest first. Minutes without activity are omitted. */
  throughput: PipeThroughput[]
}

export type GetPipeRowsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
  /** Destination table of the pipe. Default: the first one. */
  table?: string | undefined
  /** Maximum number of rows. */
  limit?: number | undefined
}

/** Newest rows of a destination table. */
export type PipeRows = {
  /** Destination tables that exist in ClickHouse, with their sizes. */
  tables: ServiceTable[]
  /** Table of the rows; `null` if the pipe has no destination table. */
  table: string | null
  /** Columns of the table, without columns of aggregate function states. */
  columns: {
    /** Column name. */
    name: string
    /** ClickHouse data type of the column. */
    type: string
  }[]
  /** Rows, newest first: one text value for each column, as ClickHouse prints it; `null` is NULL. */
  rows: ((string | null)[])[]
  /** Whether a long value was truncated. */
  isCut: boolean
}

export type ListPipeErrorsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
  /** Maximum number of rows in the response. */
  limit?: number | undefined
}

/** Row that ClickHouse rejected. */
export type PipeBadRow = {
  /** Id of the rejected row. */
  id: string
  /** When the row was rejected. */
  at: string
  /** Partition, shard, object or table of the source. */
  partition: string
  /** Position in the source, such as the Kafka offset. */
  position: string
  /** Error message of ClickHouse. */
  reason: string
  /** First 10,000 characters of the row, as read from the source. */
  raw: string
  /** Whether `raw` is truncated. */
  isCut: boolean
}

export type ReplayPipeErrorsParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
  /** Id of the pipe. */
  pipeId: string
}

export type DiscoverSchemaParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** PostgreSQL source with its credentials. `tableMappings` is optional. */
export type PostgresSourceDiscovery = {
  /** Host name or IP address of the server. */
  host: string
  /** TCP port of the server. */
  port?: number
  /** PostgreSQL database. */
  database: string
  /** Credentials of the source. They are never returned. In an update, fields that are not sent keep their values. */
  credentials: {
    /** User name. */
    username?: string
    /** Password. */
    password?: string
  }
  /** Settings of the initial load and of change data capture (CDC). */
  settings?: {
    /** Whether columns that can be NULL are created as `Nullable`. */
    allowNullableColumns?: boolean
    /** Whether to create a failover replication slot, which is synchronized to standbys. Not allowed with `replicationSlotName`. */
    enableFailoverSlots?: boolean
    /** Number of connections that load one table in parallel. */
    initialLoadParallelism?: number
    /** Existing publication to use. Default: Penstock creates one. */
    publicationName?: string
    /** Maximum number of changes in one batch. A batch ends at the end of a transaction. */
    pullBatchSize?: number
    /** `cdc`: initial load, then change data capture (CDC). `snapshot`: load once. `cdc_only`: CDC without initial load. */
    replicationMode?: 'cdc' | 'snapshot' | 'cdc_only'
    /** Existing replication slot to use. Only for `cdc_only`. Default: Penstock creates one. */
    replicationSlotName?: string
    /** Number of rows in one range of the initial load. */
    snapshotNumRowsPerPartition?: number
    /** Number of tables that are loaded in parallel. */
    snapshotNumberOfParallelTables?: number
    /** Maximum time in seconds between two batches. */
    syncIntervalSeconds?: number
  }
  /** Tables to sample. Omit it to list the available tables only. */
  tableMappings?: TableMappingToAdd[]
}

/** Either `source` or `pipeId`. `patch` is only allowed with `pipeId`: it is applied before the check and not stored. */
export type SchemaDiscoveryRequest = {
  /** Source as in `createPipe`: exactly one of `kafka`, `kinesis`, `objectStorage` and `postgres`. */
  source?: {
    /** Kafka source with its credentials. */
    kafka?: KafkaSourceCreate
    /** Kinesis source with its credentials. */
    kinesis?: KinesisSourceCreate
    /** Object storage source with its credentials. */
    objectStorage?: ObjectStorageSourceCreate
    /** PostgreSQL source with its credentials. `tableMappings` is optional. */
    postgres?: PostgresSourceDiscovery
  }
  /** Id of a pipe, to use its source with its stored secrets. Send it instead of `source`. */
  pipeId?: string
  /** Changes to a data pipe. */
  patch?: PipePatch
}

/** Field of the source records. */
export type SourceField = {
  /** Name of the field. */
  name: string
  /** ClickHouse data type for the values, such as `Nullable(Int64)`. If ClickHouse answers, it is a type that the service supports. */
  type: string
  /** Whether the field is absent or null in some records. */
  isOptional: boolean
}

/** Sample of a PostgreSQL table. */
export type SourceTable = {
  /** PostgreSQL schema of the source table. */
  sourceSchemaName: string
  /** Source table in PostgreSQL. */
  sourceTable: string
  /** Primary key columns; empty if the table has no primary key. */
  primaryKey: string[]
  /** Fields of the records, as the format declares them or as inferred from the sample. */
  fields: SourceField[]
  /** First records of the sample. Long values are truncated; non-text bytes are Base64-encoded. */
  rows: (Record<string, unknown>)[]
}

/** Fields and sample rows of a source. */
export type SchemaDiscovery = {
  /** Completed steps of the check, in order. */
  steps: {
    /** Step of the check. */
    step: 'connect' | 'tls' | 'authenticate' | 'describe' | 'read' | 'decode' | 'fit'
    /** Duration in milliseconds. */
    durationMs: number
  }[]
  /** Fields of the records, as the format declares them or as inferred from the sample. */
  fields: SourceField[]
  /** First records of the sample. Long values are truncated; non-text bytes are Base64-encoded. */
  rows: (Record<string, unknown>)[]
  /** PostgreSQL: samples of the tables of the mappings, instead of `fields` and `rows`. */
  tables: SourceTable[]
  /** PostgreSQL: tables that can be replicated, at most 1,000. */
  availableTables: {
    /** PostgreSQL schema of the source table. */
    sourceSchemaName: string
    /** Source table in PostgreSQL. */
    sourceTable: string
    /** Primary key columns; empty if the table has no primary key. */
    primaryKey: string[]
  }[]
  /** Differences between the sample and the columns and mappings of the pipe. Only with `pipeId`. */
  misfits: string[]
}

export type CheckDestinationParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** Destination to check. */
export type DestinationCheckRequest = {
  /** ClickHouse database. */
  database: string
  /** Destination table. Not for PostgreSQL, where `tableMappings` has the tables. */
  table?: string
  /** Whether Penstock creates the table if it does not exist. */
  managedTable?: boolean
  /** Columns that the pipe writes. Not for PostgreSQL. */
  columns?: Column[]
}

/** Result of the check. */
export type DestinationCheck = {
  /** Whether the database exists. */
  databaseExists: boolean
  /** Whether the table exists. */
  tableExists: boolean
  /** Databases that the ClickHouse user can see, at most 1,000. */
  databases: string[]
  /** Errors that a pipe with this destination would have; an empty list if there are no errors. */
  errors: {
    /** JSON pointer to the field of the request. */
    pointer: string
    /** The error, and what to do. */
    detail: string
  }[]
}

export type GetOrganizationPrometheusParams = {
  /** Id of the organization of the API key. */
  organizationId: string
}

export type GetServicePrometheusParams = {
  /** Id of the organization of the API key. */
  organizationId: string
  /** Id of the service. */
  serviceId: string
}

/** Codes of the errors of the API: docs/reference/errors.md. */
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
