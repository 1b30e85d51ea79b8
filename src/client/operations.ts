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
  /** List organizations. The organizations that the API key belongs to. A key belongs to one, so the list has one page and one item. */
  listOrganizations(params: ListOrganizationsParams = {}, options?: CallOptions): Promise<Answer<Organization[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations' }, params, undefined, options)
  }

  /** Get organization. The organization with its private endpoints. The `ETag` of the answer can be sent as `If-Match` with a change; it is that of the name, and stays when private endpoints come and go. */
  getOrganization(params: GetOrganizationParams, options?: CallOptions): Promise<Answer<Organization>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}' }, params, undefined, options)
  }

  /** Update organization. Changes the name of the organization. The name that it already has is fine and changes nothing. */
  updateOrganization(params: UpdateOrganizationParams, body: OrganizationPatch, options?: VersionedWriteOptions): Promise<Answer<Organization>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}' }, params, body, options)
  }

  /** List activities. The changes that were made in the organization, the newest first: by whom, from where, and what they changed. Activities are never changed or removed, and are sealed a few seconds after they were made: `penstock audit verify` detects changes to them in the database. */
  listActivities(params: ListActivitiesParams, options?: CallOptions): Promise<Answer<Activity[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/activities' }, params, undefined, options)
  }

  /** Get activity. One change that was made in the organization: by whom, from where, and what it changed. */
  getActivity(params: GetActivityParams, options?: CallOptions): Promise<Answer<Activity>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/activities/{activityId}' }, params, undefined, options)
  }

  /** List organization members. The people of the organization with their roles, those who joined last first. */
  listMembers(params: ListMembersParams, options?: CallOptions): Promise<Answer<Member[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/members' }, params, undefined, options)
  }

  /** Get organization member. The member with the present role. The `ETag` of the answer can be sent as `If-Match` with a change. */
  getMember(params: GetMemberParams, options?: CallOptions): Promise<Answer<Member>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/members/{userId}' }, params, undefined, options)
  }

  /** Update organization member. Changes the role of a member. Setting the role that the member already has is fine and changes nothing. An organization always keeps at least one admin. */
  updateMember(params: UpdateMemberParams, body: MemberPatch, options?: VersionedWriteOptions): Promise<Answer<Member>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/members/{userId}' }, params, body, options)
  }

  /** Remove organization member. Takes the member out of the organization; memberships in other organizations stay. API keys belong to the organization and stay too. An organization always keeps at least one admin. */
  deleteMember(params: DeleteMemberParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/members/{userId}' }, params, undefined, options)
  }

  /** List invitations. The invitations that have neither been accepted nor deleted, the newest first. Expired ones are included: see `expireAt`. Links are not shown. */
  listInvitations(params: ListInvitationsParams, options?: CallOptions): Promise<Answer<Invitation[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/invitations' }, params, undefined, options)
  }

  /** Create invitation. Invites a person to the organization. Send the `link` of the answer to them yourself: it is good for 7 days and for one person, and it is shown only once. An expired invitation of the same person is replaced. */
  createInvitation(params: CreateInvitationParams, body: InvitationCreate, options?: WriteOptions): Promise<Answer<InvitationWithLink>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/invitations' }, params, body, options)
  }

  /** Get invitation. The invitation without its link, expired or not. */
  getInvitation(params: GetInvitationParams, options?: CallOptions): Promise<Answer<Invitation>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/invitations/{invitationId}' }, params, undefined, options)
  }

  /** Delete invitation. Takes the invitation back: its link is refused from now on. */
  deleteInvitation(params: DeleteInvitationParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/invitations/{invitationId}' }, params, undefined, options)
  }

  /** List API keys. The API keys of the organization, the newest first. Secrets are not among what is shown. */
  listKeys(params: ListKeysParams, options?: CallOptions): Promise<Answer<Key[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/keys' }, params, undefined, options)
  }

  /** Create API key. Makes a key with one role. The secret is in this answer and in no other: only a hash of it is stored. A lost secret is replaced by rotating the key. */
  createKey(params: CreateKeyParams, body: KeyCreate, options?: WriteOptions): Promise<Answer<KeyWithSecret>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/keys' }, params, body, options)
  }

  /** Get the API key in use. The key that this very request is made with: its role, its expiry and where it may be used from. */
  getCurrentKey(params: GetCurrentKeyParams, options?: CallOptions): Promise<Answer<Key>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/keys/current' }, params, undefined, options)
  }

  /** Get API key. The key without its secret. The `ETag` of the answer can be sent as `If-Match` with a change; using a key is not one. */
  getKey(params: GetKeyParams, options?: CallOptions): Promise<Answer<Key>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/keys/{keyId}' }, params, undefined, options)
  }

  /** Update API key. Changes the fields that are sent and leaves the others as they are; `ipAccessList` is replaced as a whole, `"expireAt": null` takes the expiry away, and one in the past ends the key at once. Changes hold from the next request on. A key cannot shut itself out: it can neither disable, demote nor expire itself, nor exclude the address that it is used from. */
  updateKey(params: UpdateKeyParams, body: KeyPatch, options?: VersionedWriteOptions): Promise<Answer<Key>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/keys/{keyId}' }, params, body, options)
  }

  /** Delete API key. The key is refused from the next request on. A key cannot delete itself. */
  deleteKey(params: DeleteKeyParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/keys/{keyId}' }, params, undefined, options)
  }

  /** Rotate API key. Gives the key another secret; its key id stays. The secret that it had stays good for `graceSeconds`, so that clients can be changed one after another; one from an earlier rotation ends at once. A key may rotate itself; its old secret then stays good for at least 60 seconds. */
  rotateKey(params: RotateKeyParams, body: KeyRotation, options?: WriteOptions): Promise<Answer<KeyWithSecret>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/keys/{keyId}/rotate' }, params, body, options)
  }

  /** List services. The services of the organization with their present state, the newest first. Of the private endpoints of each, the ids of the newest 10. */
  listServices(params: ListServicesParams, options?: CallOptions): Promise<Answer<Service[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services' }, params, undefined, options)
  }

  /** Create service. Registers an engine that is already running. It is checked at once: the answer has the state `provisioning`, and within seconds the state shows whether the engine can be reached with the credentials. The password is stored sealed and never shown. */
  createService(params: CreateServiceParams, body: ServiceCreate, options?: WriteOptions): Promise<Answer<Service>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services' }, params, body, options)
  }

  /** Get service. The service and what the last check of its engine found. The ETag changes with what can be changed, not with the state. */
  getService(params: GetServiceParams, options?: CallOptions): Promise<Answer<Service>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}' }, params, undefined, options)
  }

  /** Update service. Changes the fields that are sent and leaves the others as they are; if anything is wrong, nothing is changed. `privateEndpointIds` and `ipAccessList` take what to `add` and what to `remove`; the list that the service has may be sent back unchanged. With another protocol, host or port `endpoint.password` must be sent too: the password that is stored goes only where it was registered for. A password that is sent counts as a change, whatever it was before. The engine is checked at once; with another endpoint the state is `provisioning` until then. `state`, `stateReason` and `engineVersion` are set by the checks and are ignored. */
  updateService(params: UpdateServiceParams, body: ServicePatch, options?: VersionedWriteOptions): Promise<Answer<Service>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}' }, params, body, options)
  }

  /** Delete service. Removes the service from the organization; the engine itself is left alone. Its private endpoints are detached, and those that no other service uses leave the organization. A service that has pipes is not removed. */
  deleteService(params: DeleteServiceParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/services/{serviceId}' }, params, undefined, options)
  }

  /** List tables of a service. The tables of the service with their number of rows and their size on disk, by database and name, read from the engine: those that the user of the endpoint may see, at most 1,000, without system tables. Empty for a service without an endpoint. Takes at most 5 seconds. */
  listServiceTables(params: ListServiceTablesParams, options?: CallOptions): Promise<Answer<ServiceTable[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/tables' }, params, undefined, options)
  }

  /** Get private endpoint configuration. What a private endpoint of the provider must be connected to in order to reach the service, as the operator of this Penstock has set it for the provider and the region. */
  getPrivateEndpointConfig(params: GetPrivateEndpointConfigParams, options?: CallOptions): Promise<Answer<PrivateEndpointConfig>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpointConfig' }, params, undefined, options)
  }

  /** List private endpoints. The private endpoints that are attached to the service, the newest first. */
  listPrivateEndpoints(params: ListPrivateEndpointsParams, options?: CallOptions): Promise<Answer<PrivateEndpoint[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint' }, params, undefined, options)
  }

  /** Create private endpoint. Registers a private endpoint with the organization and attaches it to the service. The same id and description again give the same answer, so a retry is safe. The same endpoint may be attached to several services of its organization. */
  createPrivateEndpoint(params: CreatePrivateEndpointParams, body: PrivateEndpointCreate, options?: WriteOptions): Promise<Answer<PrivateEndpoint>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint' }, params, body, options)
  }

  /** Delete private endpoint. Detaches the endpoint from the service. Other services that use it keep it; when none does, it leaves the organization. Slashes in the id are sent as `%2F`. */
  deletePrivateEndpoint(params: DeletePrivateEndpointParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint/{privateEndpointId}' }, params, undefined, options)
  }

  /** List data pipes (beta). The pipes of the service, whole and without their secrets, the newest first. A page of very large pipes has fewer than `limit`; the `Link` header leads on. */
  listPipes(params: ListPipesParams, options?: CallOptions): Promise<Answer<Pipe[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes' }, params, undefined, options)
  }

  /**
   * Create data pipe (beta). Creates a pipe of exactly one kind of source, with its secrets, which are never shown again. Kafka, Kinesis and object storage fill one table: `destination` needs `table`, `columns` and, unless `managedTable` is false, `tableDefinition`. PostgreSQL fills the tables of its `tableMappings`, and `destination` has only `database`.
   *
   * What is accepted is what is shown afterwards, with the defaults of what was left out. The pipe starts at once, in the state `Provisioning`, unless `startPaused` is true.
   */
  createPipe(params: CreatePipeParams, body: PipeCreate, options?: WriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes' }, params, body, options)
  }

  /** Get data pipe (beta). The whole pipe without its secrets. The `ETag` of the answer can be sent as `If-Match` with a change. */
  getPipe(params: GetPipeParams, options?: CallOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}' }, params, undefined, options)
  }

  /**
   * Update data pipe (beta). Changes the fields that are sent and leaves the others as they are: objects merge, lists replace, `null` clears an optional field or resets a setting to its default. The merged pipe is checked as a whole; if anything is wrong, nothing is changed. A running pipe stays running: no pause is needed.
   *
   * Secrets (`credentials`, `accessKey`) are write-only. A request that brings exactly one kind of credential that is not in use switches the authentication to it; one that brings several stores them and switches nothing. The credentials of a schema registry are set when the pipe is created and cannot be changed.
   */
  updatePipe(params: UpdatePipeParams, body: PipePatch, options?: VersionedWriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}' }, params, body, options)
  }

  /** Delete data pipe (beta). Deletes the pipe, whatever it is doing. The tables that it filled stay, with all they have. Its secrets are deleted with it; those of a postgres pipe as soon as the replication slot and the publication that it had made are removed from the source, those of a kinesis pipe with enhanced fan-out as soon as its consumer is removed from the stream, which is tried for 7 days. */
  deletePipe(params: DeletePipeParams, options?: VersionedWriteOptions): Promise<Answer<null>> {
    return this.call({ method: 'DELETE', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}' }, params, undefined, options)
  }

  /** Get data pipe settings (beta). All settings of the pipe with the values that are in effect. The `ETag` is the one of the pipe: it changes with every change of the pipe, and can be sent as `If-Match` with any of them. */
  getPipeSettings(params: GetPipeSettingsParams, options?: CallOptions): Promise<Answer<PipeSettings>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/settings' }, params, undefined, options)
  }

  /** Update data pipe settings (beta). Changes the settings that are sent and leaves the others as they are; `null` resets one to its default. The same as `settings` in an update of the pipe. */
  updatePipeSettings(params: UpdatePipeSettingsParams, body: PipeSettingsPatch, options?: VersionedWriteOptions): Promise<Answer<PipeSettings>> {
    return this.call({ method: 'PUT', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/settings' }, params, body, options)
  }

  /** Update data pipe scaling (beta). Changes the fields that are sent and leaves the others as they are; `null` resets one to its default. */
  updatePipeScaling(params: UpdatePipeScalingParams, body: PipeScalingPatch, options?: VersionedWriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/scaling' }, params, body, options)
  }

  /**
   * Start, stop or resync data pipe (beta). `start` starts a pipe that is stopped, paused, completed or failed. `stop` stops it and may be repeated: a pipe that is stopped already stays as it is. `resync` loads everything again, of a postgres pipe that runs; while the pipe is still loading it changes nothing.
   *
   * The answer has the state after the command. `Stopping` and `Pausing` end automatically. A command that changes the state is a change of the pipe: it sets `updatedAt` and makes a new `ETag`. Later state changes by the runner do not.
   */
  updatePipeState(params: UpdatePipeStateParams, body: PipeStatePatch, options?: VersionedWriteOptions): Promise<Answer<Pipe>> {
    return this.call({ method: 'PATCH', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/state' }, params, body, options)
  }

  /** Get data pipe metrics (beta). What the pipe is doing now, why it has its state, how much it has moved since it was created and by the minute of the last hour, how much waits in the source, and whether rows can be there twice after a failure. */
  getPipeMetrics(params: GetPipeMetricsParams, options?: CallOptions): Promise<Answer<PipeMetrics>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/metrics' }, params, undefined, options)
  }

  /** Get newest rows (beta). Returns the newest rows of a destination table of the pipe, and the sizes of all its tables, read from the engine. The rows are those of the parts that the engine wrote last, highest version or sorting key first; of a copy of a PostgreSQL table, the newest versions of rows that are not deleted. At most 100 rows and 1 MB, so fewer rows of a table with very many columns; long values are shortened. Takes at most 5 seconds. Empty until the pipe has inserted something. */
  getPipeRows(params: GetPipeRowsParams, options?: CallOptions): Promise<Answer<PipeRows>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/rows' }, params, undefined, options)
  }

  /** List rejected rows (beta). The rows that the engine did not take, the newest first, each with the reason in the words of the engine. They are kept for 7 days in a table of the engine beside that of the pipe, and read from there; of a postgres pipe, beside each of its tables. Takes at most 10 seconds. */
  listPipeErrors(params: ListPipeErrorsParams, options?: CallOptions): Promise<Answer<PipeBadRow[]>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errors' }, params, undefined, options)
  }

  /** Try rejected rows again (beta). Sends the rejected rows that are kept to the engine again, after the table, the columns or the mappings were fixed. The engine takes each of them once. Rows that it rejects again stay, with the newer reason. The request is kept until it is done; a pipe that does not run does it when it is next started. Repeating the request before then changes nothing. */
  replayPipeErrors(params: ReplayPipeErrorsParams, options?: WriteOptions): Promise<Answer<PipeMetrics>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errorReplay' }, params, undefined, options)
  }

  /**
   * Discover schema of source (beta). Connects to a source, reads a sample and returns what is in it: fields with a type of the engine that holds them, and the first rows. Changes nothing. The source is sent as to create a pipe, or it is that of a pipe, with its stored secrets and, with `patch`, as an update would make it. For PostgreSQL, `tableMappings` may be left out to see which tables there are.
   *
   * Takes at most 10 seconds. A step that fails is a 400 that says which step, why, and what to do. Every request connects again: `Idempotency-Key` has no effect.
   */
  discoverSchema(params: DiscoverSchemaParams, body: SchemaDiscoveryRequest, options?: WriteOptions): Promise<Answer<SchemaDiscovery>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/schemaDiscovery' }, params, body, options)
  }

  /**
   * Check destination (beta). Asks the engine of the service whether a pipe can write there: that the database exists, the table too unless Penstock manages it, and that the engine has the types of the columns. Changes nothing.
   *
   * Takes at most 5 seconds. Every request asks again: `Idempotency-Key` has no effect.
   */
  checkDestination(params: CheckDestinationParams, body: DestinationCheckRequest, options?: WriteOptions): Promise<Answer<DestinationCheck>> {
    return this.call({ method: 'POST', path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/destinationCheck' }, params, body, options)
  }

  /** Get organization metrics. Metrics of the organization for a Prometheus server: its services and their states, how many pipes they have in which state, the state of each pipe and what it has moved, what deleted pipes have left at their sources, its members by role and its API keys. At most the 1000 newest services and the 1000 newest pipes. */
  getOrganizationPrometheus(params: GetOrganizationPrometheusParams, options?: CallOptions): Promise<Answer<string>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/prometheus', text: true }, params, undefined, options)
  }

  /** Get service metrics. Metrics of one service for a Prometheus server: whether its engine answers, and of each pipe its state and what it has moved; at most the 1000 newest pipes. */
  getServicePrometheus(params: GetServicePrometheusParams, options?: CallOptions): Promise<Answer<string>> {
    return this.call({ method: 'GET', path: '/v1/organizations/{organizationId}/services/{serviceId}/prometheus', text: true }, params, undefined, options)
  }
}
