import { type Static, Type } from '../lib/schema.ts'

export const EndpointId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[!-~]+$',
  patternHint: '1 to 255 printable ASCII characters without white space',
  description:
    'Id of the endpoint at the cloud provider. AWS: `vpce-` and 8 or 17 hexadecimal digits. GCP: decimal digits. ' +
    'Azure: a resource id or a UUID. An id in another format is accepted with a `Warning` header.',
})
const Description = Type.String({ maxLength: 255, description: 'Description of the endpoint.' })

export const PrivateEndpoint = Type.Object(
  {
    cloudProvider: Type.Enum(['aws', 'gcp', 'azure'], { description: 'Cloud provider of the service.' }),
    description: Description,
    id: EndpointId,
    region: Type.String({ description: 'Region of the service.' }),
  },
  { $id: 'PrivateEndpoint', description: 'Private endpoint to a service.', additionalProperties: false },
)
export type PrivateEndpoint = Static<typeof PrivateEndpoint>
type Provider = PrivateEndpoint['cloudProvider']

export const PrivateEndpointCreate = Type.Object(
  { description: Type.Optional({ ...Description, default: '' }), id: EndpointId },
  { $id: 'PrivateEndpointCreate', description: 'Private endpoint to attach.', additionalProperties: false },
)

export const privateEndpointExample: PrivateEndpoint = {
  cloudProvider: 'aws',
  description: 'Analytics VPC, production',
  id: 'vpce-0a1b2c3d4e5f67890',
  region: 'us-east-1',
}

const usualIds: Record<Provider, { pattern: RegExp; described: string }> = {
  aws: { pattern: /^vpce-(?:[0-9a-f]{8}|[0-9a-f]{17})$/, described: '"vpce-" and 8 or 17 hex digits' },
  gcp: { pattern: /^[0-9]+$/, described: 'decimal digits' },
  azure: {
    pattern: /^(?:\/subscriptions\/.+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i,
    described: 'a resource id ("/subscriptions/...") or a uuid',
  },
}

/** What is unusual about the id for this provider, as a sentence; undefined for a usual id (docs/reference/private-endpoints.md). */
export function unusualId(provider: Provider, id: string): string | undefined {
  const { pattern, described } = usualIds[provider]
  if (pattern.test(id)) return undefined
  return `id ${JSON.stringify(id)} does not look like an endpoint of ${provider}, which is ${described}`
}

/** Number of endpoints attached to a service, and the ids of the newest, newest first. */
export interface Attachments {
  newestIds: string[]
  count: number
}
