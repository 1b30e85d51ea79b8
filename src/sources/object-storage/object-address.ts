// Where the store of a source and its queue are reached, and whether they may be: what crosses the network in the clear needs the
// operator's word.
import { EgressError } from '../../lib/egress.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import { egressFailure } from '../failure.ts'
import { ProbeFailure, type ProbeOptions, type SourceContext } from '../source.ts'
import { type ObjectLocation, operatorsEndpoint } from './object-location.ts'

const connectMs = 10_000

export interface Address {
  url: URL
  /** As the user knows it. */
  shown: string
  field: string
  /** The operator has put it there. */
  isOperators: boolean
}

export function addressOf(place: ObjectLocation, context: SourceContext): Address {
  if (place.kind === 'azure') {
    const url = new URL(place.account.endpoint)
    return { url, shown: url.host, field: 'connectionString', isOperators: false }
  }
  const { endpoint, bucket, isPathStyle, vendor } = place
  const url = new URL(endpoint)
  if (!isPathStyle) url.hostname = `${bucket}.${url.hostname}`
  const elsewhere = operatorsEndpoint(vendor, context)
  const isOperators = elsewhere !== undefined
  return { url: isOperators ? new URL(elsewhere) : url, shown: url.host, field: 'url', isOperators }
}

/** By a connection of its own: whether there is anything at the other end is then known before anything is said to it. */
export async function reach(address: Address, context: SourceContext, options: ProbeOptions): Promise<void> {
  const { egress, signal, begin } = options
  const { url, shown, field } = address
  const hasTls = url.protocol === 'https:'
  const host = hostOfUrl(url.hostname)
  const port = Number(url.port || (hasTls ? 443 : 80))
  try {
    const limits = { timeoutMs: connectMs, signal }
    const socket = hasTls
      ? await egress.connectTls(host, port, { ...limits, tls: trustWith(context.caCertificates) })
      : await egress.connect(host, port, limits)
    socket.destroy()
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    if (error.failure === 'tls') begin('tls')
    throw notReached(egressFailure(error, shown, field))
  }
  if (hasTls) begin('tls')
  else refusePlaintext(address, context, begin)
}

/** An authority cannot be sent with this kind of source: the operator has those beyond what everyone trusts. */
function notReached(failure: ProbeFailure): ProbeFailure {
  if (failure.code !== 'certificate_untrusted') return failure
  const remedy = 'use a certificate that everyone trusts, or have the operator of Penstock add its authority'
  return new ProbeFailure({ ...failure, remedy })
}

export function refusePlaintext(address: Address, context: SourceContext, begin?: ProbeOptions['begin']): void {
  const { url, shown, field, isOperators } = address
  if (url.protocol === 'https:' || isOperators || context.allowPlaintext) return
  begin?.('tls')
  throw new ProbeFailure({
    step: 'tls',
    code: 'tls_refused',
    reason: `the address of ${shown} begins with http://, so that data and keys would cross the network in the clear`,
    remedy: 'use https://, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true',
    field,
  })
}
