// List of API operations, in the order of the documentation.
import { getActivity } from './activities/get-activity.ts'
import { listActivities } from './activities/list-activities.ts'
import { createInvitation } from './invitations/create-invitation.ts'
import { deleteInvitation } from './invitations/delete-invitation.ts'
import { getInvitation } from './invitations/get-invitation.ts'
import { listInvitations } from './invitations/list-invitations.ts'
import { createKey } from './keys/create-key.ts'
import { deleteKey } from './keys/delete-key.ts'
import { getCurrentKey } from './keys/get-current-key.ts'
import { getKey } from './keys/get-key.ts'
import { listKeys } from './keys/list-keys.ts'
import { rotateKey } from './keys/rotate-key.ts'
import { updateKey } from './keys/update-key.ts'
import { deleteMember } from './members/delete-member.ts'
import { getMember } from './members/get-member.ts'
import { listMembers } from './members/list-members.ts'
import { updateMember } from './members/update-member.ts'
import type { AnyOperation } from './operation/operation.ts'
import { getOrganization } from './organizations/get-organization.ts'
import { listOrganizations } from './organizations/list-organizations.ts'
import { updateOrganization } from './organizations/update-organization.ts'
import { checkDestination } from './pipes/check-destination.ts'
import { createPipe } from './pipes/create-pipe.ts'
import { deletePipe } from './pipes/delete-pipe.ts'
import { discoverSchema } from './pipes/discover-schema.ts'
import { getPipe } from './pipes/get-pipe.ts'
import { getPipeMetrics } from './pipes/get-pipe-metrics.ts'
import { getPipeRows } from './pipes/get-pipe-rows.ts'
import { getPipeSettings } from './pipes/get-pipe-settings.ts'
import { listPipeErrors } from './pipes/list-pipe-errors.ts'
import { listPipes } from './pipes/list-pipes.ts'
import { replayPipeErrors } from './pipes/replay-pipe-errors.ts'
import { updatePipe } from './pipes/update-pipe.ts'
import { updatePipeScaling } from './pipes/update-pipe-scaling.ts'
import { updatePipeSettings } from './pipes/update-pipe-settings.ts'
import { updatePipeState } from './pipes/update-pipe-state.ts'
import { getOrganizationPrometheus } from './prometheus/get-organization-prometheus.ts'
import { getServicePrometheus } from './prometheus/get-service-prometheus.ts'
import { createPrivateEndpoint } from './services/create-private-endpoint.ts'
import { createService } from './services/create-service.ts'
import { deletePrivateEndpoint } from './services/delete-private-endpoint.ts'
import { deleteService } from './services/delete-service.ts'
import { getPrivateEndpointConfig } from './services/get-private-endpoint-config.ts'
import { getService } from './services/get-service.ts'
import { listPrivateEndpoints } from './services/list-private-endpoints.ts'
import { listServiceTables } from './services/list-service-tables.ts'
import { listServices } from './services/list-services.ts'
import { updateService } from './services/update-service.ts'

export const operations: AnyOperation[] = [
  listOrganizations,
  getOrganization,
  updateOrganization,
  listActivities,
  getActivity,
  listMembers,
  getMember,
  updateMember,
  deleteMember,
  listInvitations,
  createInvitation,
  getInvitation,
  deleteInvitation,
  listKeys,
  createKey,
  getCurrentKey,
  getKey,
  updateKey,
  deleteKey,
  rotateKey,
  listServices,
  createService,
  getService,
  updateService,
  deleteService,
  listServiceTables,
  getPrivateEndpointConfig,
  listPrivateEndpoints,
  createPrivateEndpoint,
  deletePrivateEndpoint,
  listPipes,
  createPipe,
  getPipe,
  updatePipe,
  deletePipe,
  getPipeSettings,
  updatePipeSettings,
  updatePipeScaling,
  updatePipeState,
  getPipeMetrics,
  getPipeRows,
  listPipeErrors,
  replayPipeErrors,
  discoverSchema,
  checkDestination,
  getOrganizationPrometheus,
  getServicePrometheus,
]

export const operationsById: ReadonlyMap<string, AnyOperation> = new Map(operations.map((each) => [each.id, each]))
