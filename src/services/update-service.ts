import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../database/sql.ts'
import { changeIpAccessList, completeIpAccessList } from '../lib/ip-access.ts'
import { differences, hasValue, requireSomething } from '../lib/merge-patch.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import type { Vault } from '../lib/vault.ts'
import { type Change, operation } from '../operation/operation.ts'
import { attachEndpoint, detachEndpoint, isAttached, isRegistered } from '../private-endpoints/store.ts'
import {
  maxListedEndpoints,
  parseEndpointUrl,
  passwordContext,
  readEndpointUrl,
  requireTlsForPassword,
  Service,
  ServicePatch,
  ServicePath,
  type StoredService,
  serviceExample,
  showService,
  versionOf,
} from './service.ts'
import { findService, forgetServiceState, loadAttachments, loadService, updateServiceRow } from './store.ts'

export const updateService = operation({
  id: 'updateService',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/services/{serviceId}',
  tag: 'Service',
  summary: 'Update service',
  description:
    'Changes the fields that are sent and keeps the others. If a field is invalid, nothing is changed. ' +
    '`privateEndpointIds` and `ipAccessList` take entries to `add` and to `remove`; the current list may be sent ' +
    'unchanged. A different protocol, host or port requires `endpoint.password`: the stored password is sent only to ' +
    'the address that it was registered for. A password that is sent always counts as a change. A health check ' +
    'follows immediately; after a change of the endpoint the state is `provisioning` until then. `state`, ' +
    '`stateReason` and `engineVersion` are ignored.',
  access: 'admin',
  activity: 'service_updated',
  wakes: ['checker', 'runner'],
  versioned: true,
  params: Type.Object(ServicePath),
  body: ServicePatch,
  echo: {
    shape: Service,
    current: async ({ sql }, params) => {
      const service = await findService(sql, params.organizationId, params.serviceId)
      return service && showService(service, (await loadAttachments(sql, service)).newestIds)
    },
  },
  result: Service,
  problems: ['nothing_to_update'],
  example: {
    summary: 'Rename, sign in as another user, let one more network in',
    body: {
      name: 'analytics (eu)',
      endpoint: {
        url: 'https://clickhouse.northwind.example:8443',
        username: 'penstock_eu',
        password: 'a-new-password',
      },
      ipAccessList: { add: [{ source: '198.51.100.0/24', description: 'Warehouse' }] },
    },
    result: {
      ...serviceExample,
      name: 'analytics (eu)',
      state: 'provisioning',
      stateReason: 'the engine has not been checked yet',
      endpoints: [{ ...serviceExample.endpoints[0]!, username: 'penstock_eu' }],
      ipAccessList: [...serviceExample.ipAccessList, { source: '198.51.100.0/24', description: 'Warehouse' }],
    },
  },
  async run({ sql, vault, settings, now, requireVersion, record }, { params, body }) {
    const { organizationId, serviceId } = params
    const service = await loadService(sql, organizationId, serviceId)
    const attached = await loadAttachments(sql, service)
    requireVersion(versionOf(service, attached))
    const { state: _state, stateReason: _reason, engineVersion: _version, ...patch } = body
    requireSomething(patch)

    const problems: FieldProblem[] = []
    const endpoint = mergeEndpoint(service, patch, vault, problems)
    const password = patch.endpoint?.password
    if (endpoint && password && problems.length === 0)
      requireTlsForPassword(parseEndpointUrl(endpoint.url)!, password, settings, problems)
    const ipAccessList = mergeIpAccess(service, patch, problems)
    const endpointIds = await endpointChanges(sql, service, attached.newestIds, patch, problems)
    if (problems.length > 0) throw invalidBody(problems)

    const updated: StoredService = { ...service, name: patch.name ?? service.name, endpoint, ipAccessList }
    const changes: Change[] = [
      ...differences(recorded(service), recorded(updated)),
      ...(patch.endpoint?.password === undefined ? [] : [{ field: 'endpoint.password', to: 'changed' }]),
      ...endpointIds.remove.map((id) => ({ field: 'privateEndpointIds', from: id })),
      ...endpointIds.add.map((id) => ({ field: 'privateEndpointIds', to: id })),
    ]
    if (changes.length === 0) {
      return { result: showService(service, attached.newestIds), version: versionOf(service, attached) }
    }

    for (const id of endpointIds.remove) await detachEndpoint(sql, { serviceId, organizationId, id })
    for (const id of endpointIds.add) await attachEndpoint(sql, { serviceId, organizationId, id, now })
    if (changes.some(({ field }) => field.startsWith('endpoint'))) {
      const sameEngine = endpoint?.url === service.endpoint?.url
      await forgetServiceState(sql, { ...service, engineVersion: sameEngine ? service.engineVersion : null })
    }
    await updateServiceRow(sql, updated, now)
    record({ type: 'service', id: serviceId }, changes)
    const stored = await loadService(sql, organizationId, serviceId)
    const nowAttached = await loadAttachments(sql, stored)
    return { result: showService(stored, nowAttached.newestIds), version: versionOf(stored, nowAttached) }
  },
})

/** The fields of a service that activities record, without the password. */
function recorded({ name, endpoint, ipAccessList }: StoredService): object {
  return { name, ...(endpoint ? { endpoint: { url: endpoint.url, username: endpoint.username } } : {}), ipAccessList }
}

function mergeEndpoint(
  service: StoredService,
  { endpoint: patch }: ServicePatch,
  vault: Vault,
  problems: FieldProblem[],
): StoredService['endpoint'] {
  if (!patch || !hasValue(patch)) return service.endpoint
  const url = patch.url === undefined ? service.endpoint?.url : readEndpointUrl(patch.url, problems)?.url
  const username = patch.username ?? service.endpoint?.username
  const sealedPassword =
    patch.password === undefined
      ? service.endpoint?.sealedPassword
      : vault.seal(patch.password, passwordContext(service))
  if (!service.endpoint) {
    for (const name of ['url', 'username', 'password'] as const) {
      if (patch[name] !== undefined) continue
      const path = `endpoint.${name}`
      problems.push({ path, detail: `${path} is required: the service has no endpoint yet` })
    }
  } else if (url !== undefined && url !== service.endpoint.url && patch.password === undefined) {
    // Otherwise a caller could send the stored password to a host of their own.
    const path = 'endpoint.password'
    const detail = `${path} is required with another protocol, host or port: the stored password is only for ${service.endpoint.url}`
    problems.push({ path, detail })
  }
  if (url === undefined || username === undefined || sealedPassword === undefined) return service.endpoint
  return { url, username, sealedPassword }
}

function mergeIpAccess(
  service: StoredService,
  { ipAccessList: patch }: ServicePatch,
  problems: FieldProblem[],
): StoredService['ipAccessList'] {
  const present = service.ipAccessList
  if (patch === undefined) return present
  if (Array.isArray(patch)) {
    if (!isDeepStrictEqual(completeIpAccessList(patch), present)) problems.push(notTheList('ipAccessList'))
    return present
  }
  return changeIpAccessList(present, patch, 'ipAccessList', problems)
}

/** The private endpoints to attach and detach, without those that are attached already. */
async function endpointChanges(
  sql: Sql,
  { organizationId, id: serviceId }: StoredService,
  shown: string[],
  { privateEndpointIds: patch }: ServicePatch,
  problems: FieldProblem[],
): Promise<{ add: string[]; remove: string[] }> {
  if (patch === undefined) return { add: [], remove: [] }
  if (Array.isArray(patch)) {
    // As shown by a list of services, or by the service itself.
    const isPresent = [shown, shown.slice(0, maxListedEndpoints)].some((ids) => isDeepStrictEqual(patch, ids))
    if (!isPresent) problems.push(notTheList('privateEndpointIds'))
    return { add: [], remove: [] }
  }
  const { add = [], remove = [] } = patch
  const toAdd: string[] = []
  for (const [index, id] of remove.entries()) {
    const path = `privateEndpointIds.remove[${index}]`
    if (!(await isAttached(sql, { organizationId, serviceId, id }))) {
      problems.push({ path, detail: `${path} is not attached to the service: ${JSON.stringify(id)}` })
    } else if (add.includes(id)) {
      problems.push({ path, detail: `${path} is also in privateEndpointIds.add: ${JSON.stringify(id)}` })
    }
  }
  for (const [index, id] of add.entries()) {
    const path = `privateEndpointIds.add[${index}]`
    if (!(await isRegistered(sql, organizationId, id))) {
      const detail = `${path} is not a private endpoint of the organization: ${JSON.stringify(id)}; create it first`
      problems.push({ path, detail })
    } else if (!(await isAttached(sql, { organizationId, serviceId, id }))) toAdd.push(id)
  }
  return { add: toAdd, remove }
}

function notTheList(path: string): FieldProblem {
  return {
    path,
    detail: `${path} as a list must be the current list; to change it, send {"add": [...], "remove": [...]}`,
  }
}
