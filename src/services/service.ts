// A service is a registered engine: its endpoint and credentials. Its state is the result of the last check (checker.ts), not a
// desired state.
import { hash } from 'node:crypto'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { bracketedHostPattern, hostInUrl, isHost } from '../lib/host.ts'
import { IpAccess, IpSource, ipAccessListOf, maxIpAccessEntries } from '../lib/ip-access.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import type { SealContext } from '../lib/vault.ts'
import type { OperationSettings } from '../operation/operation.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'
import type { Attachments } from '../private-endpoints/private-endpoint.ts'

export const ServicePath = { ...OrganizationPath, serviceId: idParameter('Id of the service.') }

const Provider = Type.Enum(['aws', 'gcp', 'azure'], { description: 'Cloud provider that ClickHouse runs on.' })
export type Provider = Static<typeof Provider>

const ServiceName = Type.String({
  minLength: 1,
  maxLength: 50,
  description: 'Display name of the service. It need not be unique.',
})

const Region = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9-]+$',
  patternHint: 'lower-case letters, digits and hyphens such as us-east-1',
  description: 'Region of the cloud provider that ClickHouse runs in.',
})

const ServiceState = Type.Enum(['provisioning', 'running', 'degraded', 'failed', 'stopped'], {
  description:
    'Result of the last health check of ClickHouse. Checks run every 30 seconds, and immediately after a change. ' +
    '`provisioning`: not checked yet. `running`: the last check succeeded. `degraded`: it was running, and one or two ' +
    'checks have failed since. `failed`: three checks have failed, it was never reached, or it rejects the user name ' +
    'or the password. `stopped`: it was running, three checks have failed, and connections are refused.',
})
export type ServiceState = Static<typeof ServiceState>

const endpointUrl = /^(https?):\/\/(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d{1,5}))?\/?$/

const EndpointUrl = Type.String({
  minLength: 1,
  maxLength: 300,
  checkedPattern: `^https?:\\/\\/${bracketedHostPattern}(?::\\d{1,5})?\\/?$`,
  description:
    'URL of the HTTP interface of ClickHouse: `http` or `https`, a host and a port. Default port: 8123, with TLS ' +
    '8443. No user name, path, query or fragment. A password requires `https`, unless the operator allows `http`.',
})
const withoutControls = {
  pattern: '^[^\\u0000-\\u001f\\u007f]*$',
  patternHint: 'text without control characters',
}
const Username = Type.String({ minLength: 1, maxLength: 255, ...withoutControls, description: 'ClickHouse user.' })
const Password = Type.String({
  maxLength: 4096,
  ...withoutControls,
  secret: true,
  writeOnly: true,
  description: 'Password of the user; may be empty. It is stored encrypted and never returned.',
})

/** Maximum number of private endpoint ids of a service, and of a service in a list. */
export const maxShownEndpoints = 1000
export const maxListedEndpoints = 10

const PrivateEndpointIds = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: maxShownEndpoints })

export const Service = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Id of the service.' }),
    name: ServiceName,
    provider: Provider,
    region: Region,
    state: ServiceState,
    stateReason: nullable(
      Type.String({ description: 'Reason for the state, as a sentence; `null` while the state is `running`.' }),
    ),
    engineVersion: nullable(
      Type.String({ description: 'ClickHouse version from the last successful check; `null` before the first one.' }),
    ),
    endpoints: Type.Array(
      Type.Object(
        {
          protocol: Type.Enum(['http', 'https'], { description: 'Protocol of the HTTP interface.' }),
          host: Type.String({ description: 'Host name or IP address.' }),
          port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of the HTTP interface.' }),
          username: Username,
        },
        { additionalProperties: false },
      ),
      { description: 'Address of ClickHouse: one entry, or an empty list if no endpoint is registered.' },
    ),
    privateEndpointIds: {
      ...PrivateEndpointIds,
      description:
        'Ids of the attached private endpoints, newest first: at most 1000, in a list of services at most 10. ' +
        '`listPrivateEndpoints` returns all.',
    },
    ipAccessList: Type.Array(IpAccess, {
      description:
        'Addresses that may use ClickHouse; an empty list allows all. Penstock stores the list and does not enforce it.',
    }),
    createdAt: Type.String({ format: 'date-time', description: 'When the service was registered.' }),
  },
  {
    $id: 'Service',
    description: 'Registered ClickHouse with the result of its last health check.',
    additionalProperties: false,
  },
)
export type Service = Static<typeof Service>

export const ServiceCreate = Type.Object(
  {
    name: ServiceName,
    provider: Provider,
    region: Region,
    endpoint: Type.Object(
      { url: EndpointUrl, username: Username, password: Password },
      { additionalProperties: false, description: 'Address of ClickHouse, and the user and password to connect with.' },
    ),
    ipAccessList: Type.Optional(
      ipAccessListOf({
        default: [],
        description:
          'Addresses that may use ClickHouse; an empty list allows all. Penstock stores the list and does not enforce it. A ' +
          'source must not be repeated.',
      }),
    ),
  },
  { $id: 'ServiceCreate', description: 'ClickHouse to register.', additionalProperties: false },
)

const endpointIdsToChange = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 100, uniqueItems: true, description }),
  )

const ignored = 'Ignored: the health checks set it.'

export const ServicePatch = Type.Object(
  {
    name: Type.Optional(ServiceName),
    endpoint: Type.Optional(
      Type.Object(
        { url: Type.Optional(EndpointUrl), username: Type.Optional(Username), password: Type.Optional(Password) },
        {
          additionalProperties: false,
          description:
            'Changes of the endpoint. Fields that are not sent keep their values. A different protocol, host or port requires ' +
            'the password.',
        },
      ),
    ),
    privateEndpointIds: Type.Optional(
      Type.Union(
        [
          Type.Object(
            {
              add: endpointIdsToChange(
                'Ids of private endpoints to attach. They must be registered in the organization.',
              ),
              remove: endpointIdsToChange('Ids of private endpoints to detach. They must be attached.'),
            },
            { additionalProperties: false },
          ),
          { ...PrivateEndpointIds, description: 'The current list, unchanged.' },
        ],
        { description: 'Private endpoints to attach and to detach, or the current list unchanged.' },
      ),
    ),
    ipAccessList: Type.Optional(
      Type.Union(
        [
          Type.Object(
            {
              add: Type.Optional(
                ipAccessListOf({
                  description:
                    'Addresses to add. A source that is in the list already gets the new description. A source must not be repeated.',
                }),
              ),
              remove: Type.Optional(
                Type.Array(Type.Object({ source: IpSource }, { additionalProperties: false }), {
                  maxItems: maxIpAccessEntries,
                  description: 'Addresses to remove. They must be in the list. A source must not be repeated.',
                }),
              ),
            },
            { additionalProperties: false },
          ),
          ipAccessListOf({ description: 'The current list, unchanged.' }),
        ],
        { description: 'Addresses to add to the IP access list and to remove from it, or the current list unchanged.' },
      ),
    ),
    // A client may read a service, edit it and send all of it back; a check may have changed the state since then.
    state: Type.Optional({ ...ServiceState, description: ignored }),
    stateReason: Type.Optional(nullable(Type.String({ maxLength: 1000, description: ignored }))),
    engineVersion: Type.Optional(nullable(Type.String({ maxLength: 255, description: ignored }))),
  },
  { $id: 'ServicePatch', description: 'Changes to a service.', additionalProperties: false },
)
export type ServicePatch = Static<typeof ServicePatch>

export const ServiceTable = Type.Object(
  {
    database: Type.String({ description: 'Database of the table.' }),
    table: Type.String({ description: 'Name of the table.' }),
    engine: Type.String({ description: 'Table engine, such as `MergeTree` or `View`.' }),
    rows: nullable(
      Type.Integer({
        minimum: 0,
        description:
          'Number of rows, including older versions and deleted rows that ClickHouse has not merged yet; `null` if ' +
          'ClickHouse does not count them, for example in a view.',
      }),
    ),
    bytes: nullable(
      Type.Integer({
        minimum: 0,
        description:
          'Compressed size on disk in bytes; `null` if ClickHouse does not report it, for example for a view.',
      }),
    ),
  },
  { $id: 'ServiceTable', description: 'Table of a service.', additionalProperties: false },
)

export const PrivateEndpointConfig = Type.Object(
  {
    endpointServiceId: Type.String({ description: 'Endpoint service to connect a private endpoint to.' }),
    privateDnsHostname: Type.String({ description: 'DNS name of ClickHouse over the private endpoint.' }),
  },
  {
    $id: 'PrivateEndpointConfig',
    description: 'Endpoint service that private endpoints connect to.',
    additionalProperties: false,
  },
)

/** A service as it is stored. */
export interface StoredService {
  id: string
  organizationId: string
  name: string
  provider: Provider
  region: string
  createdAt: string
  version: number
  /** Null for services that were created before engines could be registered. */
  endpoint: { url: string; username: string; sealedPassword: string } | null
  ipAccessList: IpAccess[]
  state: ServiceState
  stateReason: string | null
  engineVersion: string | null
}

export function showService(service: StoredService, privateEndpointIds: string[]): Service {
  const { id, name, provider, region, state, engineVersion, ipAccessList, createdAt, endpoint } = service
  const { protocol, host, port } = parseEndpointUrl(endpoint?.url ?? '') ?? {}
  const endpoints = endpoint ? [{ protocol: protocol!, host: host!, port: port!, username: endpoint.username }] : []
  const stateReason = service.stateReason ?? (state === 'provisioning' ? provisioningReason(service) : null)
  return {
    id,
    name,
    provider,
    region,
    state,
    stateReason,
    engineVersion,
    endpoints,
    privateEndpointIds,
    ipAccessList,
    createdAt,
  }
}

function provisioningReason({ endpoint }: StoredService): string {
  return endpoint
    ? 'the engine has not been checked yet'
    : 'no endpoint is registered; send endpoint.url, endpoint.username and endpoint.password'
}

/** Changes with all fields that can be updated, including the attached private endpoints, but not with the state. */
export function versionOf(service: StoredService, { newestIds, count }: Attachments): string {
  return `${service.version}.${hash('sha256', [count, ...newestIds].join('\n'), 'hex').slice(0, 12)}`
}

export interface EndpointAddress {
  /** Normalized: host in lower case, always with the port. */
  url: string
  protocol: 'http' | 'https'
  host: string
  port: number
}

const defaultPorts = { http: 8123, https: 8443 }

export function parseEndpointUrl(text: string): EndpointAddress | undefined {
  const match = endpointUrl.exec(text)
  if (!match) return undefined
  const protocol = match[1] as 'http' | 'https'
  const host = asciiLowerCase(match[2] ?? match[3]!)
  const port = match[4] === undefined ? defaultPorts[protocol] : Number(match[4])
  if (!isHost(host) || (match[2] !== undefined) !== host.includes(':') || port < 1 || port > 65_535) return undefined
  return { url: `${protocol}://${hostInUrl(host)}:${port}`, protocol, host, port }
}

/** Undefined after adding a problem to the list. */
export function readEndpointUrl(text: string, problems: FieldProblem[]): EndpointAddress | undefined {
  const address = parseEndpointUrl(text)
  if (!address) {
    const path = 'endpoint.url'
    const rule = 'must be an http or https URL of a host, such as https://clickhouse.example.com:8443'
    // Not quoted when it has a user name or a query: it may have a password too.
    const rest = /[@?]/.test(text) ? ', without user name and password' : `, not ${JSON.stringify(text)}`
    problems.push({ path, detail: `${path} ${rule}${rest}` })
  }
  return address
}

/** Adds a problem when the password would be sent in the clear without the operator's permission. */
export function requireTlsForPassword(
  address: Pick<EndpointAddress, 'protocol'>,
  password: string,
  { allowPlaintext }: OperationSettings,
  problems: FieldProblem[],
): void {
  if (address.protocol === 'https' || password === '' || allowPlaintext) return
  const path = 'endpoint.url'
  const detail =
    `${path} must begin with https: http sends the password in the clear; ` +
    'the operator of Penstock can allow that with PENSTOCK_ALLOW_PLAINTEXT=true'
  problems.push({ path, detail })
}

/** Seal context of the password of a service. */
export function passwordContext({ id, organizationId }: { id: string; organizationId: string }): SealContext {
  return { organizationId, table: 'services', row: id, field: 'endpoint_password' }
}

export const serviceExample: Service = {
  id: '9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00',
  name: 'analytics',
  provider: 'aws',
  region: 'us-east-1',
  state: 'running',
  stateReason: null,
  engineVersion: '26.5.1.882',
  endpoints: [{ protocol: 'https', host: 'clickhouse.northwind.example', port: 8443, username: 'penstock' }],
  privateEndpointIds: ['vpce-0a1b2c3d4e5f67890'],
  ipAccessList: [{ source: '203.0.113.0/24', description: 'Office' }],
  createdAt: '2026-10-19T14:05:00.000Z',
}
