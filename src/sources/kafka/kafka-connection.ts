// A connection to one broker: TLS (plaintext only if the operator allows it and the broker does not speak TLS), then API versions,
// then the login. No credentials are sent before the broker has answered as Kafka.

import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { apiVersionsV0 } from '@platformatic/kafka'
import { EgressError } from '../../lib/egress.ts'
import { type TlsOptions, trustWith } from '../../lib/egress-tls.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import type { BrokerConnection, KafkaAccess } from './kafka-access.ts'
import { addressText, apiVersionsFailure, type BrokerAddress, connectFailure, failureFrom } from './kafka-failure.ts'
import { type Frames, makeFrames } from './kafka-frames.ts'
import { logIn } from './kafka-login.ts'
import { egressOf } from './kafka-routes.ts'
import { openWire, type Wire, WireError } from './kafka-wire.ts'

export interface ConnectOptions {
  timeoutMs: number
  begin?(step: ProbeStep): void
}

export function makeAccess(
  config: KafkaSource,
  secrets: SourceSecrets,
  context: SourceContext,
  connectOptions: SourceAccess,
): KafkaAccess {
  const controller = new AbortController()
  return {
    config,
    secrets,
    context,
    egress: egressOf(config, context, connectOptions.egress),
    signal: AbortSignal.any([connectOptions.signal, controller.signal]),
    tls: tlsOptions(config, secrets, context),
    hasTls: undefined,
    region: undefined,
    awsCredentials: undefined,
    close: () => controller.abort(),
  }
}

/** Rejects with a ProbeFailure. */
export async function connectBroker(
  access: KafkaAccess,
  address: BrokerAddress,
  { timeoutMs, begin }: ConnectOptions,
): Promise<BrokerConnection> {
  const { config, signal } = access
  const { socket, hasTls, frames } = await openSocket(access, address, timeoutMs)
  if (hasTls) begin?.('tls')
  const wire = openWire(socket, signal, frames)
  try {
    const versions = await loadVersions(wire, timeoutMs).catch((error: unknown) => {
      throw error instanceof WireError ? apiVersionsFailure(error, address, isMutual(config)) : error
    })
    access.hasTls = hasTls
    const choose: BrokerConnection['choose'] = (apis) => apis.find((api) => isSupported(versions, api)) ?? apis.at(-1)!
    begin?.('authenticate')
    const openedAtMs = performance.now()
    const lifetimeMs = isMutual(config) ? 0 : await logIn(wire, access, address, choose)
    const isExpired = (): boolean => lifetimeMs > 0 && performance.now() > openedAtMs + lifetimeMs * 0.8
    return Object.assign(wire, { choose, isExpired })
  } catch (error) {
    wire.close()
    throw error
  }
}

function isMutual({ authentication }: KafkaSource): boolean {
  return authentication === 'MUTUAL_TLS'
}

async function openSocket(
  access: KafkaAccess,
  address: BrokerAddress,
  timeoutMs: number,
): Promise<{ socket: Socket; hasTls: boolean; frames?: Frames }> {
  const { config, context, egress, signal, tls } = access
  const { host, port } = address
  const failed = (error: unknown): unknown =>
    error instanceof EgressError ? connectFailure(error, address, isMutual(config)) : error
  if (access.hasTls !== false) {
    try {
      return { socket: await egress.connectTls(host, port, { timeoutMs, signal, tls }), hasTls: true }
    } catch (error) {
      if (!(error instanceof EgressError) || error.tls !== 'no tls') throw failed(error)
      // The first result stays valid: falling back to plaintext later would be a downgrade.
      if (access.hasTls || !context.allowPlaintext || isMutual(config)) throw tlsNotSupported(error, address, config)
    }
  }
  try {
    const frames = makeFrames()
    const socket = await egress.connect(host, port, { timeoutMs, signal, onread: frames.onread })
    return { socket, hasTls: false, frames }
  } catch (error) {
    throw failed(error)
  }
}

function tlsNotSupported(cause: Error, address: BrokerAddress, config: KafkaSource): ProbeFailure {
  const allow = 'have the broker speak TLS, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true'
  return failureFrom(cause, {
    step: 'tls',
    code: 'tls_refused',
    reason: `${addressText(address)} does not speak TLS`,
    remedy: isMutual(config) ? 'use the port of the brokers that asks for a client certificate' : allow,
    field: 'brokers',
  })
}

type Versions = Map<number, { min: number; max: number }>

/** Version 0 is understood by every broker. */
async function loadVersions(wire: Wire, timeoutMs: number): Promise<Versions> {
  const { errorCode, apiKeys } = await wire.call(
    (connection) => apiVersionsV0.api.async(connection, 'penstock', '1'),
    timeoutMs,
  )
  const versions: Versions = new Map(
    apiKeys.map(({ apiKey, minVersion, maxVersion }) => [apiKey, { min: minVersion, max: maxVersion }]),
  )
  if (errorCode !== 0 || versions.size === 0) throw new WireError('garbled')
  return versions
}

function isSupported(versions: Versions, { key, version }: { key: number; version: number }): boolean {
  const supported = versions.get(key)
  return supported !== undefined && supported.min <= version && version <= supported.max
}

function tlsOptions(config: KafkaSource, secrets: SourceSecrets, context: SourceContext): TlsOptions {
  const { caCertificate } = config
  const { caCertificates } = context
  if (caCertificate !== undefined && !isUsable({ ca: caCertificate })) {
    throw new ProbeFailure({
      step: 'tls',
      code: 'certificate_untrusted',
      reason: 'caCertificate is not a certificate that can be read',
      remedy: 'send the certificate of the authority that signed the certificates of the brokers, as PEM',
      field: 'caCertificate',
    })
  }
  const { certificate, privateKey } = secrets.credentials ?? {}
  const own = isMutual(config) ? { cert: certificate ?? '', key: privateKey ?? '' } : {}
  if (isMutual(config) && !isUsable(own)) {
    throw new ProbeFailure({
      step: 'tls',
      code: 'credentials_refused',
      reason: 'the client certificate and its key cannot be read, or do not belong together',
      remedy: 'send both as PEM, the key without a passphrase',
      field: 'credentials',
    })
  }
  return { ...own, ...(caCertificate === undefined ? trustWith(caCertificates) : { ca: caCertificate }) }
}

function isUsable(options: TlsOptions): boolean {
  try {
    createSecureContext(options)
    return true
  } catch {
    return false
  }
}
