// Generated from the list of operations: npm run generate.
// biome-ignore-all format: written by a program.
// biome-ignore-all assist/source/organizeImports: written by a program.
import { type Answer, Caller, type CallOptions, type VersionedWriteOptions, type WriteOptions } from './caller.ts'
import type {
  Activity,
  CheckDestinationParams,
  CreateInvitationParams,
  CreateKeyParams,
  CreatePipeParams,
  CreatePrivateEndpointParams,
  CreateServiceParams,
  DeleteInvitationParams,
  DeleteKeyParams,
  DeleteMemberParams,
  DeletePipeParams,
  DeletePrivateEndpointParams,
  DeleteServiceParams,
  DestinationCheck,
  DestinationCheckRequest,
  DiscoverSchemaParams,
  GetActivityParams,
  GetCurrentKeyParams,
  GetInvitationParams,
  GetKeyParams,
  GetMemberParams,
  GetOrganizationParams,
  GetOrganizationPrometheusParams,
  GetPipeMetricsParams,
  GetPipeParams,
  GetPipeRowsParams,
  GetPipeSettingsParams,
  GetPrivateEndpointConfigParams,
  GetServiceParams,
  GetServicePrometheusParams,
  Invitation,
  InvitationCreate,
  InvitationWithLink,
  Key,
  KeyCreate,
  KeyPatch,
  KeyRotation,
  KeyWithSecret,
  ListActivitiesParams,
  ListInvitationsParams,
  ListKeysParams,
  ListMembersParams,
  ListOrganizationsParams,
  ListPipeErrorsParams,
  ListPipesParams,
  ListPrivateEndpointsParams,
  ListServiceTablesParams,
  ListServicesParams,
  Member,
  MemberPatch,
  Organization,
  OrganizationPatch,
  Pipe,
  PipeBadRow,
  PipeCreate,
  PipeMetrics,
  PipePatch,
  PipeRows,
  PipeScalingPatch,
  PipeSettings,
  PipeSettingsPatch,
  PipeStatePatch,
  PrivateEndpoint,
  PrivateEndpointConfig,
  PrivateEndpointCreate,
  ReplayPipeErrorsParams,
  RotateKeyParams,
  SchemaDiscovery,
  SchemaDiscoveryRequest,
  Service,
  ServiceCreate,
  ServicePatch,
  ServiceTable,
  UpdateKeyParams,
  UpdateMemberParams,
  UpdateOrganizationParams,
  UpdatePipeParams,
  UpdatePipeScalingParams,
  UpdatePipeSettingsParams,
  UpdatePipeStateParams,
  UpdateServiceParams,
} from './shapes.ts'

/** The lists, which answer page by page. */
export type ListOperation = 
  | 'listOrganizations'
  | 'listActivities'
  | 'listMembers'
  | 'listInvitations'
  | 'listKeys'
  | 'listServices'
  | 'listPrivateEndpoints'
  | 'listPipes'

export abstract class Operations extends Caller {
  /** List organizations. Returns the organization of the API key. A key belongs to one organization, so the list has one item. */
  listOrganizations(params: ListOrganizationsParams = {}, options?: CallOptions): Promise<Answer<Organization[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations' }, params, undefined, options)
  }

  /** Get organization. Returns the organization with its private endpoints. Send the `ETag` as `If-Match` with a change. The `ETag` changes with the name, and not with the private endpoints. */
  getOrganization(params: GetOrganizationParams, options?: CallOptions): Promise<Answer<Organization>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}' }, params, undefined, options)
  }

  /** Update organization. Changes the name of the organization. A request with the current name succeeds and changes nothing. */
  updateOrganization(params: UpdateOrganizationParams, body: OrganizationPatch, options?: VersionedWriteOptions): Promise<Answer<Organization>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}' }, params, body, options)
  }

  /** List activities. Returns the audit log of the organization, newest first: every change, with its actor, address and changed fields. Activities cannot be changed or deleted. The log is tamper-evident: `penstock audit verify` detects later changes in the database. */
  listActivities(params: ListActivitiesParams, options?: CallOptions): Promise<Answer<Activity[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/activities' }, params, undefined, options)
  }

  /** Get activity. Returns one entry of the audit log: a change with its actor, address and changed fields. */
  getActivity(params: GetActivityParams, options?: CallOptions): Promise<Answer<Activity>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/activities/{activityId}' }, params, undefined, options)
  }

  /** List organization members. Returns the members of the organization with their roles, newest first. */
  listMembers(params: ListMembersParams, options?: CallOptions): Promise<Answer<Member[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/members' }, params, undefined, options)
  }

  /** Get organization member. Returns the member with the current role. Send the `ETag` as `If-Match` with a change. */
  getMember(params: GetMemberParams, options?: CallOptions): Promise<Answer<Member>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/members/{userId}' }, params, undefined, options)
  }

  /** Update organization member. Changes the role of a member. A request with the current role succeeds and changes nothing. The last admin of an organization cannot be made a developer. */
  updateMember(params: UpdateMemberParams, body: MemberPatch, options?: VersionedWriteOptions): Promise<Answer<Member>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/members/{userId}' }, params, body, options)
  }

  /** Remove organization member. Removes the member from the organization. Memberships in other organizations and the API keys of the organization stay. The last admin of an organization cannot be removed. */
  deleteMember(params: DeleteMemberParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/members/{userId}' }, params, undefined, options)
  }

  /** List invitations. Returns the invitations that were neither accepted nor deleted, newest first. The list includes expired invitations and does not include links. */
  listInvitations(params: ListInvitationsParams, options?: CallOptions): Promise<Answer<Invitation[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/invitations' }, params, undefined, options)
  }

  /** Create invitation. Creates an invitation to the organization. Penstock sends no email: send the `link` of the response to the person. The link is valid for 7 days, can be used once, and is returned only in this response. An expired invitation for the same email address is replaced. */
  createInvitation(params: CreateInvitationParams, body: InvitationCreate, options?: WriteOptions): Promise<Answer<InvitationWithLink>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/invitations' }, params, body, options)
  }

  /** Get invitation. Returns the invitation without its link, also if it has expired. */
  getInvitation(params: GetInvitationParams, options?: CallOptions): Promise<Answer<Invitation>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/invitations/{invitationId}' }, params, undefined, options)
  }

  /** Delete invitation. Deletes the invitation. Its link is no longer valid. */
  deleteInvitation(params: DeleteInvitationParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/invitations/{invitationId}' }, params, undefined, options)
  }

  /** List API keys. Returns the API keys of the organization without their secrets, newest first. */
  listKeys(params: ListKeysParams, options?: CallOptions): Promise<Answer<Key[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/keys' }, params, undefined, options)
  }

  /** Create API key. Creates an API key with one role. The secret is returned only in this response; Penstock stores a hash of it. To replace a lost secret, rotate the key. */
  createKey(params: CreateKeyParams, body: KeyCreate, options?: WriteOptions): Promise<Answer<KeyWithSecret>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/keys' }, params, body, options)
  }

  /** Get the API key in use. Returns the API key that authenticates this request: its role, expiry and IP access list. */
  getCurrentKey(params: GetCurrentKeyParams, options?: CallOptions): Promise<Answer<Key>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/keys/current' }, params, undefined, options)
  }

  /** Get API key. Returns the API key without its secret. Send the `ETag` as `If-Match` with a change. The `ETag` does not change when the key is used. */
  getKey(params: GetKeyParams, options?: CallOptions): Promise<Answer<Key>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/keys/{keyId}' }, params, undefined, options)
  }

  /** Update API key. Changes the fields that are sent and keeps the others. `ipAccessList` replaces the complete list, and `"expireAt": null` removes the expiry. A time in the past expires the key immediately. Changes take effect with the next request. A key cannot disable, demote or expire itself, or exclude the address of the request. */
  updateKey(params: UpdateKeyParams, body: KeyPatch, options?: VersionedWriteOptions): Promise<Answer<Key>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/keys/{keyId}' }, params, body, options)
  }

  /** Delete API key. Deletes the API key. Requests with it are rejected from then on. A key cannot delete itself. */
  deleteKey(params: DeleteKeyParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/keys/{keyId}' }, params, undefined, options)
  }

  /** Rotate API key. Replaces the secret of the API key; its key id stays. The previous secret stays valid for `graceSeconds`, so that clients can be changed one by one. A secret from an earlier rotation expires immediately. If a key rotates itself, its previous secret stays valid for at least 60 seconds. */
  rotateKey(params: RotateKeyParams, body: KeyRotation, options?: WriteOptions): Promise<Answer<KeyWithSecret>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/keys/{keyId}/rotate' }, params, body, options)
  }

  /** List services. Returns the services of the organization with their current states, newest first. Each has the ids of its newest 10 private endpoints. */
  listServices(params: ListServicesParams, options?: CallOptions): Promise<Answer<Service[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services' }, params, undefined, options)
  }

  /** Create service. Registers a ClickHouse server that is already running. The response has the state `provisioning`. A health check follows immediately and sets the state. The password is stored encrypted and never returned. */
  createService(params: CreateServiceParams, body: ServiceCreate, options?: WriteOptions): Promise<Answer<Service>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services' }, params, body, options)
  }

  /** Get service. Returns the service with the result of its last health check. The `ETag` changes with the fields that can be updated, and not with the state. */
  getService(params: GetServiceParams, options?: CallOptions): Promise<Answer<Service>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}' }, params, undefined, options)
  }

  /** Update service. Changes the fields that are sent and keeps the others. If a field is invalid, nothing is changed. `privateEndpointIds` and `ipAccessList` take entries to `add` and to `remove`; the current list may be sent unchanged. A different protocol, host or port requires `endpoint.password`: the stored password is sent only to the address that it was registered for. A password that is sent always counts as a change. A health check follows immediately; after a change of the endpoint the state is `provisioning` until then. `state`, `stateReason` and `engineVersion` are ignored. */
  updateService(params: UpdateServiceParams, body: ServicePatch, options?: VersionedWriteOptions): Promise<Answer<Service>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}' }, params, body, options)
  }

  /** Delete service. Removes the service from the organization. ClickHouse and its data are not changed. The private endpoints of the service are detached; those that no other service uses are removed from the organization. A service with pipes cannot be deleted. */
  deleteService(params: DeleteServiceParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/services/{serviceId}' }, params, undefined, options)
  }

  /** List tables of a service. Returns the tables of the service with row counts and sizes, sorted by database and name. Penstock reads them from ClickHouse: at most 1,000 tables that the user may see, without system tables. The list is empty for a service without an endpoint. Takes at most 5 seconds. */
  listServiceTables(params: ListServiceTablesParams, options?: CallOptions): Promise<Answer<ServiceTable[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/tables' }, params, undefined, options)
  }

  /** Get private endpoint configuration. Returns the endpoint service that a private endpoint must connect to. The operator of Penstock configures it for each provider and region. */
  getPrivateEndpointConfig(params: GetPrivateEndpointConfigParams, options?: CallOptions): Promise<Answer<PrivateEndpointConfig>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpointConfig' }, params, undefined, options)
  }

  /** List private endpoints. Returns the private endpoints that are attached to the service, newest first. */
  listPrivateEndpoints(params: ListPrivateEndpointsParams, options?: CallOptions): Promise<Answer<PrivateEndpoint[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint' }, params, undefined, options)
  }

  /** Create private endpoint. Registers a private endpoint in the organization and attaches it to the service. A repeated request with the same id and description gets the same response, so a retry is safe. An endpoint may be attached to several services of its organization. */
  createPrivateEndpoint(params: CreatePrivateEndpointParams, body: PrivateEndpointCreate, options?: WriteOptions): Promise<Answer<PrivateEndpoint>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint' }, params, body, options)
  }

  /** Delete private endpoint. Detaches the private endpoint from the service. If no other service uses it, it is also removed from the organization. Send slashes in the id as `%2F`. */
  deletePrivateEndpoint(params: DeletePrivateEndpointParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint/{privateEndpointId}' }, params, undefined, options)
  }

  /** List data pipes (beta). Returns the pipes of the service without their secrets, newest first. A page with very large pipes has fewer items than `limit`; follow the `Link` header. */
  listPipes(params: ListPipesParams, options?: CallOptions): Promise<Answer<Pipe[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes' }, params, undefined, options)
  }

  /**
   * Create data pipe (beta). Creates a pipe with exactly one source. Secrets are stored encrypted and never returned. A Kafka, Kinesis or object storage pipe writes to one table: `destination` requires `table`, `columns` and, unless `managedTable` is false, `tableDefinition`. A PostgreSQL pipe writes to the tables of its `tableMappings`, and `destination` has only `database`.
   *
   * The response includes the default values of fields that were not sent. The pipe starts immediately, in the state `Provisioning`, unless `startPaused` is true.
   */
  createPipe(params: CreatePipeParams, body: PipeCreate, options?: WriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes' }, params, body, options)
  }

  /** Get data pipe (beta). Returns the pipe without its secrets. Send the `ETag` as `If-Match` with a change. */
  getPipe(params: GetPipeParams, options?: CallOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}' }, params, undefined, options)
  }

  /**
   * Update data pipe (beta). Changes the fields that are sent and keeps the others: objects are merged, lists are replaced, and `null` clears an optional field or resets a setting to its default. Penstock validates the merged pipe; if a field is invalid, nothing is changed. A running pipe keeps running.
   *
   * Secrets (`credentials`, `accessKey`) are write-only. A request with exactly one kind of credential that is not in use switches the authentication to it. A request with several kinds stores them and does not switch. The credentials of a schema registry cannot be changed.
   */
  updatePipe(params: UpdatePipeParams, body: PipePatch, options?: VersionedWriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}' }, params, body, options)
  }

  /** Delete data pipe (beta). Deletes the pipe in any state. The destination tables and their data stay. The secrets of the pipe are deleted with it, with two exceptions. Secrets of a PostgreSQL pipe are kept until its replication slot and publication are removed from the source. Secrets of a Kinesis pipe with enhanced fan-out are kept until its consumer is removed from the stream. Penstock tries to remove them for 7 days. */
  deletePipe(params: DeletePipeParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}' }, params, undefined, options)
  }

  /** Get data pipe settings (beta). Returns all settings of the pipe with the values in effect. The `ETag` is that of the pipe. Send it as `If-Match` with any change of the pipe. */
  getPipeSettings(params: GetPipeSettingsParams, options?: CallOptions): Promise<Answer<PipeSettings>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/settings' }, params, undefined, options)
  }

  /** Update data pipe settings (beta). Changes the settings that are sent and keeps the others; `null` resets a setting to its default. `updatePipe` changes `settings` in the same way. */
  updatePipeSettings(params: UpdatePipeSettingsParams, body: PipeSettingsPatch, options?: VersionedWriteOptions): Promise<Answer<PipeSettings>> {
    return this.call({ method: 'PUT', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/settings' }, params, body, options)
  }

  /** Update data pipe scaling (beta). Changes the fields that are sent and keeps the others; `null` resets a field to its default. */
  updatePipeScaling(params: UpdatePipeScalingParams, body: PipeScalingPatch, options?: VersionedWriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/scaling' }, params, body, options)
  }

  /**
   * Start, stop or resync data pipe (beta). `start` starts a pipe that is stopped, paused, completed or failed. `stop` stops a pipe; it has no effect on a stopped pipe. `resync` reloads all tables of a running PostgreSQL pipe; it has no effect during a load.
   *
   * The response has the state after the command. The runner changes `Stopping` to `Stopped`, and `Pausing` to `Paused`. A command that changes the state also changes `updatedAt` and the `ETag`. State changes by the runner do not.
   */
  updatePipeState(params: UpdatePipeStateParams, body: PipeStatePatch, options?: VersionedWriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/state' }, params, body, options)
  }

  /** Get data pipe metrics (beta). Returns the state of the pipe with its reason, the current activity, lag, freshness, the delivery guarantee, totals since the pipe was created, and throughput by minute of the last hour. */
  getPipeMetrics(params: GetPipeMetricsParams, options?: CallOptions): Promise<Answer<PipeMetrics>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/metrics' }, params, undefined, options)
  }

  /** Get newest rows (beta). Returns the newest rows of a destination table, and the sizes of all destination tables. Penstock reads them from ClickHouse. The rows are from the newest data parts, sorted by version or sorting key in descending order. Of a copy of a PostgreSQL table, only the newest versions of rows that are not deleted. At most 100 rows and 1 MB, so fewer rows of a table with very many columns; long values are truncated. Takes at most 5 seconds. The list is empty until the pipe has inserted rows. */
  getPipeRows(params: GetPipeRowsParams, options?: CallOptions): Promise<Answer<PipeRows>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/rows' }, params, undefined, options)
  }

  /** List rejected rows (beta). Returns the rows that ClickHouse rejected, newest first, each with the error message. They are kept for 7 days in an error table in ClickHouse, one for each destination table. Takes at most 10 seconds. */
  listPipeErrors(params: ListPipeErrorsParams, options?: CallOptions): Promise<Answer<PipeBadRow[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errors' }, params, undefined, options)
  }

  /** Replay rejected rows (beta). Inserts the stored rejected rows again. Use it after you fix the table, the columns or the field mappings. Each row is inserted once. Rows that are rejected again stay in the error table with the new error. The pipe handles the request in the background; a pipe that is not running does so after its next start. A repeated request before then changes nothing. */
  replayPipeErrors(params: ReplayPipeErrorsParams, options?: WriteOptions): Promise<Answer<PipeMetrics>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errorReplay' }, params, undefined, options)
  }

  /**
   * Discover the schema of a source (beta). Connects to a source, reads a sample, and returns the fields with ClickHouse types and the first rows. Changes nothing. Send `source` as in `createPipe`, or `pipeId` to use the source of a pipe with its stored secrets. With `pipeId`, `patch` applies an update before the check. For PostgreSQL, omit `tableMappings` to list the available tables.
   *
   * Takes at most 10 seconds. If a step fails, the response is a 400 with the step, the error and what to do. Every request connects again: `Idempotency-Key` has no effect.
   */
  discoverSchema(params: DiscoverSchemaParams, body: SchemaDiscoveryRequest, options?: WriteOptions): Promise<Answer<SchemaDiscovery>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/schemaDiscovery' }, params, body, options)
  }

  /**
   * Check destination (beta). Checks whether a pipe can write to a destination: the database exists, the table exists if `managedTable` is false, and ClickHouse supports the column types. Changes nothing.
   *
   * Takes at most 5 seconds. Every request connects again: `Idempotency-Key` has no effect.
   */
  checkDestination(params: CheckDestinationParams, body: DestinationCheckRequest, options?: WriteOptions): Promise<Answer<DestinationCheck>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/destinationCheck' }, params, body, options)
  }

  /** Get organization metrics. Returns Prometheus metrics of the organization: services by state, pipes by state, the state and throughput of each pipe, objects that deleted pipes left at their sources, members by role, and API keys. Includes at most the 1000 newest services and the 1000 newest pipes. */
  getOrganizationPrometheus(params: GetOrganizationPrometheusParams, options?: CallOptions): Promise<Answer<string>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/prometheus', text: true }, params, undefined, options)
  }

  /** Get service metrics. Returns Prometheus metrics of one service: its state, and the state and throughput of each pipe. Includes at most the 1000 newest pipes. */
  getServicePrometheus(params: GetServicePrometheusParams, options?: CallOptions): Promise<Answer<string>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/prometheus', text: true }, params, undefined, options)
  }
}
