import { type Static, Type } from '../lib/schema.ts'
import { PrivateEndpoint, privateEndpointExample } from '../private-endpoints/private-endpoint.ts'

/** A UUID in a path. */
export function idParameter(description: string) {
  return Type.String({ format: 'uuid', description })
}

export const OrganizationPath = { organizationId: idParameter('Id of the organization of the API key.') }

/** Keeps the response below a few megabytes. */
export const mostEndpoints = 1000

const OrganizationName = Type.String({ minLength: 1, maxLength: 255, description: 'Display name of the organization.' })

export const Organization = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Id of the organization.' }),
    name: OrganizationName,
    createdAt: Type.String({ format: 'date-time', description: 'When the organization was created.' }),
    privateEndpoints: Type.Array(PrivateEndpoint, {
      description:
        `Private endpoints of the organization, newest first, at most ${mostEndpoints}. Each has the provider and region ` +
        'of the first service that it was attached to. `listPrivateEndpoints` lists all private endpoints of a service.',
    }),
  },
  { $id: 'Organization', description: 'Organization with its private endpoints.', additionalProperties: false },
)
export type Organization = Static<typeof Organization>

export const OrganizationPatch = Type.Object(
  { name: Type.Optional(OrganizationName) },
  { $id: 'OrganizationPatch', description: 'Changes to an organization.', additionalProperties: false },
)

export const organizationExample: Organization = {
  id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  name: 'Northwind Analytics',
  createdAt: '2026-03-02T09:15:00.000Z',
  privateEndpoints: [privateEndpointExample],
}
