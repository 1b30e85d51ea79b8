import { newId } from '../lib/id.ts'
import { completeIpAccessList, ipAccessProblems } from '../lib/ip-access.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import {
  passwordContext,
  readEndpointUrl,
  requireTlsForPassword,
  Service,
  ServiceCreate,
  serviceExample,
  showService,
} from './service.ts'
import { findService, insertService } from './store.ts'

export const createService = operation({
  id: 'createService',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services',
  tag: 'Service',
  summary: 'Create service',
  description:
    'Registers a ClickHouse server that is already running. The response has the state `provisioning`. A health check ' +
    'follows immediately and sets the state. The password is stored encrypted and never returned.',
  access: 'admin',
  activity: 'service_created',
  wakes: ['checker'],
  params: Type.Object(OrganizationPath),
  body: ServiceCreate,
  result: Service,
  problems: [],
  example: {
    summary: 'Register an engine',
    body: {
      name: serviceExample.name,
      provider: serviceExample.provider,
      region: serviceExample.region,
      endpoint: { url: 'https://clickhouse.northwind.example:8443', username: 'penstock', password: 'a-password' },
      ipAccessList: serviceExample.ipAccessList,
    },
    result: {
      ...serviceExample,
      state: 'provisioning',
      stateReason: 'the engine has not been checked yet',
      engineVersion: null,
      privateEndpointIds: [],
    },
  },
  async run({ sql, vault, settings, now, record }, { params: { organizationId }, body }) {
    const { name, provider, region } = body
    const ipAccessList = completeIpAccessList(body.ipAccessList ?? [])
    const problems: FieldProblem[] = ipAccessProblems(ipAccessList, 'ipAccessList')
    const address = readEndpointUrl(body.endpoint.url, problems)
    if (address) requireTlsForPassword(address, body.endpoint.password, settings, problems)
    if (!address || problems.length > 0) throw invalidBody(problems)

    const id = newId()
    const { url } = address
    const { username } = body.endpoint
    const sealedPassword = vault.seal(body.endpoint.password, passwordContext({ id, organizationId }))
    const endpoint = { url, username, sealedPassword }
    await insertService(sql, { id, organizationId, name, provider, region, endpoint, ipAccessList, now })
    record({ type: 'service', id }, [
      { field: 'service', to: { name, provider, region, endpoint: { url, username }, ipAccessList } },
      { field: 'endpoint.password', to: 'changed' },
    ])
    const service = await findService(sql, organizationId, id)
    return { result: showService(service!, []) }
  },
})
