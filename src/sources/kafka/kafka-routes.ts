// Egress to the brokers and the schema registry of a source: through its reverse private endpoints, if it names any.
import type { Egress } from '../../lib/egress.ts'
import { routedEgress } from '../../lib/egress-routes.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceContext } from '../source.ts'

/** Throws a ProbeFailure. */
export function egressOf(
  { reversePrivateEndpointIds: ids = [] }: Pick<KafkaSource, 'reversePrivateEndpointIds'>,
  { organizationId, reversePrivateEndpoints }: Pick<SourceContext, 'organizationId' | 'reversePrivateEndpoints'>,
  egress: Egress,
): Egress {
  if (ids.length === 0) return egress
  const routes = ids.map((id) => {
    const endpoint = reversePrivateEndpoints?.get(id)
    // Do not reveal endpoints of other organizations.
    if (endpoint?.organizationId !== organizationId) throw notSetUp(id)
    return endpoint.routes
  })
  return routedEgress(egress, routes)
}

function notSetUp(id: string): ProbeFailure {
  return new ProbeFailure({
    step: 'connect',
    code: 'not_set_up',
    reason: `this organization has no reverse private endpoint ${JSON.stringify(id)}`,
    remedy: 'ask the operator of Penstock to set it up, or take it out of reversePrivateEndpointIds',
    field: 'reversePrivateEndpointIds',
  })
}
