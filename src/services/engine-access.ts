// Opens the sealed password of a service to connect to its engine.
import type { EngineAccess } from '../engine/check.ts'
import type { EngineRead } from '../engine/engine-reader.ts'
import { Problem } from '../lib/problem.ts'
import { Secret } from '../lib/secret.ts'
import { type Vault, VaultError } from '../lib/vault.ts'
import { parseEndpointUrl, passwordContext, type StoredService } from './service.ts'

type ServiceWithEngine = Pick<StoredService, 'id' | 'organizationId' | 'endpoint'>

/** Undefined without an endpoint. Throws a VaultError when the password cannot be opened. */
export function openEngineAccess(vault: Vault, service: ServiceWithEngine): EngineAccess | undefined {
  const { endpoint } = service
  const address = endpoint && parseEndpointUrl(endpoint.url)
  if (!address) return undefined
  const password = new Secret(vault.open(endpoint.sealedPassword, passwordContext(service)))
  const { protocol, host, port } = address
  return { protocol, host, port, username: endpoint.username, password }
}

/** To read from the engine of a service for a caller of the API; throws a Problem when that is not possible. */
export function engineRead(vault: Vault, service: ServiceWithEngine): EngineRead {
  const engine = engineAccess(vault, service)
  if (typeof engine === 'string') throw new Problem('engine_refuses', engine)
  const { id: serviceId, organizationId, endpoint } = service
  return { organizationId, serviceId, url: endpoint!.url, engine }
}

/** Returns a sentence with the reason and the remedy when the password cannot be opened or there is no endpoint. */
export function engineAccess(vault: Vault, service: ServiceWithEngine): EngineAccess | string {
  try {
    return openEngineAccess(vault, service) ?? 'the service has no endpoint; register one'
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return 'the stored password of the service cannot be opened; set endpoint.password again'
  }
}
