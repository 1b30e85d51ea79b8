import { PageQuery, pageOf, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { attachedIdsOfPage } from '../private-endpoints/store.ts'
import { maxListedEndpoints, Service, serviceExample, showService } from './service.ts'
import { listServices as listStored } from './store.ts'

export const listServices = operation({
  id: 'listServices',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services',
  tag: 'Service',
  summary: 'List services',
  description:
    'Returns the services of the organization with their current states, newest first. Each has the ids of its newest ' +
    '10 private endpoints.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: PageQuery,
  result: Type.Array(Service, { description: 'Services, newest first.' }),
  problems: [],
  example: { summary: 'One service', result: [serviceExample] },
  async run({ sql }, { params: { organizationId }, query }) {
    const page = readPage(query)
    const services = await listStored(sql, organizationId, page)
    const { rows, ...next } = pageOf(page, services, ({ createdAt, id }) => [createdAt, id])
    const attached = await attachedIdsOfPage(sql, organizationId, page, maxListedEndpoints)
    return { result: rows.map((service) => showService(service, attached.get(service.id) ?? [])), ...next }
  },
})
