// Apart from organization.ts, which every noun imports for its paths: this file needs the shape of another noun.
import type { Sql } from '../database/sql.ts'
import { notFound } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { PrivateEndpoint, privateEndpointExample } from '../private-endpoints/private-endpoint.ts'
import { listEndpointsOfOrganization } from '../private-endpoints/store.ts'
import { findOrganization } from './store.ts'

/** More would make an answer of megabytes. */
const mostEndpoints = 1000

const OrganizationName = Type.String({ minLength: 1, maxLength: 255, description: 'For people.' })

export const Organization = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    name: OrganizationName,
    createdAt: Type.String({ format: 'date-time', description: 'When the organization was made.' }),
    privateEndpoints: Type.Array(PrivateEndpoint, {
      description:
        'The private endpoints of the organization, the newest first, each once: with the provider and the region of the ' +
        `service that it was attached to first. At most the newest ${mostEndpoints}; those of a service are listed in full with the service.`,
    }),
  },
  { $id: 'Organization', additionalProperties: false },
)
export type Organization = Static<typeof Organization>

export const OrganizationPatch = Type.Object(
  { name: Type.Optional(OrganizationName) },
  { $id: 'OrganizationPatch', additionalProperties: false },
)

export const organizationExample: Organization = {
  id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  name: 'Northwind Analytics',
  createdAt: '2026-03-02T09:15:00.000Z',
  privateEndpoints: [privateEndpointExample],
}

export interface LoadedOrganization {
  organization: Organization
  /** Changes with the name; private endpoints come and go without it. */
  version: number
}

export async function loadOrganization(sql: Sql, organizationId: string): Promise<LoadedOrganization> {
  const stored = await findOrganization(sql, organizationId)
  if (!stored) throw notFound(`organization ${organizationId} was not found`)
  const { version, ...own } = stored
  const privateEndpoints = await listEndpointsOfOrganization(sql, organizationId, mostEndpoints)
  return { organization: { ...own, privateEndpoints }, version }
}
