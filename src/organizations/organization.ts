import { type Static, Type } from '../lib/schema.ts'
import { PrivateEndpoint, privateEndpointExample } from '../private-endpoints/private-endpoint.ts'

/** A UUID in a path. */
export function idParameter(description: string) {
  return Type.String({ format: 'uuid', description })
}

export const OrganizationPath = { organizationId: idParameter('The organization of the API key.') }

/** Keeps the response below a few megabytes. */
export const mostEndpoints = 1000

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
