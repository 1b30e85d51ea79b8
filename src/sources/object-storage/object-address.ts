// Network address of a store or queue. Connections without TLS need the permission of the operator.
import { EgressError } from '../../lib/egress.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { egressFailure } from '../failure.ts'
import type { ProbeOptions, SourceContext } from '../source.ts'
import { type ObjectLocation, operatorsEndpoint } from './object-location.ts'

const connectMs = 10_000

export interface Address {
  url: URL
  /** For messages to the user. */
  shown: string
  field: string
  /** Configured by the operator. */
  isOperatorSet: boolean
}

export function addressOf(location: ObjectLocation, context: SourceContext): Address {
  if (location.kind === 'azure') {
    const url = new URL(location.account.endpoint)
    return { url, shown: url.host, field: 'connectionString', isOperatorSet: false }
  }
  const { endpoint, bucket, isPathStyle, vendor } = location
  const url = new URL(endpoint)
  if (!isPathStyle) url.hostname = `${bucket}.${url.hostname}`
  const endpointOverride = operatorsEndpoint(vendor, context)
  const isOperatorSet = endpointOverride !== undefined
  return { url: isOperatorSet ? new URL(endpointOverride) : url, shown: url.host, field: 'url', isOperatorSet }
}

/** Opens and closes a connection, so that network errors are detected before the first request. */
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

/** This kind of source has no caCertificate: only the operator can add an authority. */
function notReached(failure: ProbeFailure): ProbeFailure {
  if (failure.code !== 'certificate_untrusted') return failure
  const remedy = 'use a certificate that everyone trusts, or have the operator of Penstock add its authority'
  return new ProbeFailure({ ...failure, remedy })
}

export function refusePlaintext(address: Address, context: SourceContext, begin?: ProbeOptions['begin']): void {
  const { url, shown, field, isOperatorSet } = address
  if (url.protocol === 'https:' || isOperatorSet || context.allowPlaintext) return
  begin?.('tls')
  throw new ProbeFailure({
    step: 'tls',
    code: 'tls_refused',
    reason: `the address of ${shown} begins with http://, so that data and keys would cross the network in the clear`,
    remedy: 'use https://, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true',
    field,
  })
}
