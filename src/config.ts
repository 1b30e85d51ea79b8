// Reads the configuration from the environment. Unknown and invalid settings are refused at start, never ignored.
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { OidcSettings } from './accounts/oidc.ts'
import type { RateLimit } from './http/rate-limit.ts'
import { isIpRange } from './lib/ip-range.ts'
import { explainFileMode } from './lib/private-file.ts'
import { parseReversePrivateEndpoints, type ReversePrivateEndpoints } from './lib/reverse-private-endpoints.ts'
import { Secret } from './lib/secret.ts'
import { StartError } from './lib/start-error.ts'
import type { OperationSettings } from './operation/operation.ts'
import type { SourceContext } from './sources/source.ts'

/** A process with role `api` or `runner` needs others on the same PostgreSQL. */
export const roles = ['all', 'api', 'runner'] as const
export type Role = (typeof roles)[number]

export interface Config {
  host: string
  port: number
  dataFolder: string
  masterKeyFile: string
  /** Undefined: SQLite in the data folder. */
  databaseUrl: string | undefined
  logLevel: string
  rateLimit: RateLimit | undefined
  trustedProxies: string[]
  /** A proxy in front of Penstock terminates TLS. */
  tlsInFront: boolean
  /** Whether PENSTOCK_PUBLIC_URL is set; otherwise `operations.publicUrl` is a guess from host and port. */
  hasPublicUrl: boolean
  /** Allows connections to engines and sources on this machine. */
  allowLoopback: boolean
  /** Allows engines and sources without TLS, also with passwords. */
  allowPlaintext: boolean
  /** PEM of certificate authorities that are trusted for sources, in addition to the public ones. */
  caCertificates: string | undefined
  /** Endpoints of AWS services that replace the public ones. */
  awsEndpoints: SourceContext['awsEndpoints']
  /** Private connections to sources in other networks, each for one organization. */
  reversePrivateEndpoints?: ReversePrivateEndpoints
  /** Whether this process serves the API, runs pipes, or both. */
  role: Role
  /** Enables the periodic health checks of engines. */
  serviceChecks: boolean
  /** The OpenID provider for sign-in; `operations.oidc` is its part for the console. */
  oidc: OidcSettings | undefined
  /** The engine of the sample service; undefined: the embedded one. Used with an empty data folder only. */
  tryEngine: { url: string; username: string; password: Secret } | undefined
  /** Downloads that all data folders share. */
  cacheFolder: string
  operations: Omit<OperationSettings, 'allowPlaintext'>
}

/** The settings that operations use. */
export function operationSettings({ operations, allowPlaintext }: Config): OperationSettings {
  return { ...operations, allowPlaintext }
}

const names = [
  'PENSTOCK_HOST',
  'PENSTOCK_PORT',
  'PENSTOCK_DATA',
  'PENSTOCK_MASTER_KEY_FILE',
  'PENSTOCK_LOG_LEVEL',
  'PENSTOCK_RATE_LIMIT',
  'PENSTOCK_TRUSTED_PROXIES',
  'PENSTOCK_TLS_IN_FRONT',
  'PENSTOCK_ALLOW_LOOPBACK',
  'PENSTOCK_ALLOW_PLAINTEXT',
  'PENSTOCK_CA_CERTIFICATES',
  'PENSTOCK_AWS_ENDPOINTS',
  'PENSTOCK_REVERSE_PRIVATE_ENDPOINTS',
  'PENSTOCK_RETAINED_LOG_WARNING',
  'PENSTOCK_TRY_ENGINE',
  'PENSTOCK_PUBLIC_URL',
  'PENSTOCK_PRIVATE_ENDPOINT_SERVICES',
  'PENSTOCK_OIDC_ISSUER',
  'PENSTOCK_OIDC_CLIENT_ID',
  'PENSTOCK_OIDC_CLIENT_SECRET_FILE',
  'PENSTOCK_OIDC_NAME',
] as const
type Name = (typeof names)[number]

/** Settings of `penstock call` (docs/reference/cli.md); a server may be started from a shell that has them. */
const namesOfCall = ['PENSTOCK_URL', 'PENSTOCK_KEY_ID', 'PENSTOCK_KEY_SECRET', 'PENSTOCK_ORGANIZATION_ID']

const logLevels = ['error', 'warn', 'info', 'debug', 'silent']

/** Overrides of the try-it mode: its engine and sample files are on the same machine. */
export const allowedToTry = { allowLoopback: true, allowPlaintext: true } as const

/** Name of the file in the data folder with the ids and keys of the sample organization. */
export const sampleFile = 'sample.env'

export function readConfig(environment: NodeJS.ProcessEnv, defaults: { logLevel: string }): Config {
  for (const name of Object.keys(environment)) {
    if (name.startsWith('PENSTOCK_') && ![...names, ...namesOfCall].includes(name)) {
      throw new StartError(
        `${name} is not a setting of Penstock. The settings are ${names.join(', ')} and DATABASE_URL.`,
      )
    }
  }
  const read = (name: Name): string | undefined => environment[name]?.trim() || undefined
  const refuse = (name: Name, allowed: string): never => {
    throw new StartError(`${name} must be ${allowed}, not ${JSON.stringify(read(name))}.`)
  }

  const port = read('PENSTOCK_PORT') ?? '8080'
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) refuse('PENSTOCK_PORT', 'a port number from 0 to 65535')
  const logLevel = read('PENSTOCK_LOG_LEVEL') ?? defaults.logLevel
  if (!logLevels.includes(logLevel)) refuse('PENSTOCK_LOG_LEVEL', `one of ${logLevels.join(', ')}`)
  const tlsInFront = read('PENSTOCK_TLS_IN_FRONT') ?? 'false'
  if (tlsInFront !== 'true' && tlsInFront !== 'false') refuse('PENSTOCK_TLS_IN_FRONT', 'true or false')
  const allowLoopback = read('PENSTOCK_ALLOW_LOOPBACK') ?? 'false'
  if (allowLoopback !== 'true' && allowLoopback !== 'false') refuse('PENSTOCK_ALLOW_LOOPBACK', 'true or false')
  const allowPlaintext = read('PENSTOCK_ALLOW_PLAINTEXT') ?? 'false'
  if (allowPlaintext !== 'true' && allowPlaintext !== 'false') refuse('PENSTOCK_ALLOW_PLAINTEXT', 'true or false')
  const awsEndpoints = readAwsEndpoints(read('PENSTOCK_AWS_ENDPOINTS') ?? '')
  if (!awsEndpoints) {
    const allowed = 'entries such as kinesis=http://10.0.0.7:4566, apart by commas, of kinesis, s3 and sts'
    const ofQueue = '(SQS has none: a queue is reached at the queueUrl of its pipe)'
    refuse('PENSTOCK_AWS_ENDPOINTS', `${allowed} ${ofQueue}`)
  }
  const retainedLogWarningBytes = readSize(read('PENSTOCK_RETAINED_LOG_WARNING') ?? '10GiB')
  if (retainedLogWarningBytes === undefined)
    refuse('PENSTOCK_RETAINED_LOG_WARNING', 'a size such as 500MiB, 10GiB or 1TiB, or 0 for never')
  const limit = read('PENSTOCK_RATE_LIMIT')
  const rate = limit === undefined ? undefined : /^([1-9]\d{0,8})\/([1-9]\d{0,4})s$/.exec(limit)
  if (rate === null) refuse('PENSTOCK_RATE_LIMIT', 'requests per seconds such as 100/10s')
  const databaseUrl = environment.DATABASE_URL?.trim() || undefined
  if (databaseUrl !== undefined && !/^postgres(?:ql)?:\/\//.test(databaseUrl)) {
    throw new StartError('DATABASE_URL must begin with postgres://; leave it out to use SQLite in the data folder.')
  }

  const trustedProxies = (read('PENSTOCK_TRUSTED_PROXIES') ?? '').split(',').flatMap((part) => part.trim() || [])
  if (!trustedProxies.every(isIpRange)) refuse('PENSTOCK_TRUSTED_PROXIES', 'addresses or ranges such as 10.0.0.0/8')

  const host = read('PENSTOCK_HOST') ?? '127.0.0.1'
  const ownUrl = originOf(`http://${host.includes(':') ? `[${host}]` : host}:${port}`)
  if (!ownUrl) refuse('PENSTOCK_HOST', 'an address or a name of this machine')
  const givenUrl = read('PENSTOCK_PUBLIC_URL')
  const publicUrl = givenUrl === undefined ? ownUrl : originOf(givenUrl)
  if (!publicUrl) {
    refuse(
      'PENSTOCK_PUBLIC_URL',
      'the address by which people reach Penstock, without a path (the console is at /console of it), such as https://penstock.example.com',
    )
  }
  if (tlsInFront === 'true' && (givenUrl === undefined || !publicUrl!.startsWith('https:'))) {
    throw new StartError(
      'PENSTOCK_TLS_IN_FRONT=true needs PENSTOCK_PUBLIC_URL with the https address of the proxy, such as https://penstock.example.com: ' +
        'with it the cookies of sessions are kept to TLS.',
    )
  }
  if (tlsInFront === 'true' && trustedProxies.length === 0) {
    throw new StartError(
      'PENSTOCK_TLS_IN_FRONT=true needs PENSTOCK_TRUSTED_PROXIES with the addresses that the proxy connects from, such as 127.0.0.1: ' +
        'without them everybody has the address of the proxy, for throttles, IP access lists and activities.',
    )
  }
  const services = readEndpointServices(read('PENSTOCK_PRIVATE_ENDPOINT_SERVICES') ?? '')
  if (!services) {
    refuse(
      'PENSTOCK_PRIVATE_ENDPOINT_SERVICES',
      'entries such as aws/us-east-1=com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d/analytics.internal, apart by commas',
    )
  }

  const oidc = readOidc(read)
  const dataFolder = resolve(read('PENSTOCK_DATA') ?? 'data')
  return {
    host,
    port: Number(port),
    dataFolder,
    masterKeyFile: read('PENSTOCK_MASTER_KEY_FILE') ?? resolve(dataFolder, 'master-keys.json'),
    databaseUrl,
    logLevel,
    rateLimit: rate ? { requests: Number(rate[1]), windowSeconds: Number(rate[2]) } : undefined,
    trustedProxies,
    tlsInFront: tlsInFront === 'true',
    hasPublicUrl: givenUrl !== undefined,
    allowLoopback: allowLoopback === 'true',
    allowPlaintext: allowPlaintext === 'true',
    caCertificates: readCertificates(read('PENSTOCK_CA_CERTIFICATES')),
    awsEndpoints: awsEndpoints!,
    reversePrivateEndpoints: readReversePrivateEndpoints(read('PENSTOCK_REVERSE_PRIVATE_ENDPOINTS')),
    role: 'all',
    serviceChecks: true,
    oidc,
    tryEngine: readTryEngine(read('PENSTOCK_TRY_ENGINE')),
    cacheFolder: join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock'),
    operations: {
      publicUrl: publicUrl!,
      privateEndpointServices: services!,
      retainedLogWarningBytes: retainedLogWarningBytes!,
      ...(oidc ? { oidc: { name: oidc.name } } : {}),
    },
  }
}

/** Origin of a URL that has only scheme, host and port; undefined for any other text. */
function originOf(text: string): string | undefined {
  // `URL` silently corrects many errors, so the text is checked first.
  if (!/^https?:\/\/[^\s/?#@\\]+\/?$/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text).origin
}

/** Undefined when no OpenID provider is configured. */
function readOidc(read: (name: Name) => string | undefined): OidcSettings | undefined {
  const needed = ['PENSTOCK_OIDC_ISSUER', 'PENSTOCK_OIDC_CLIENT_ID', 'PENSTOCK_OIDC_CLIENT_SECRET_FILE'] as const
  const name = read('PENSTOCK_OIDC_NAME')
  const missing = needed.filter((setting) => read(setting) === undefined)
  if (missing.length === needed.length && name === undefined) return undefined
  if (missing.length > 0) {
    throw new StartError(
      `To sign in with OpenID Connect, ${needed.join(', ')} must all be set; missing: ${missing.join(', ')}.`,
    )
  }
  const issuer = read('PENSTOCK_OIDC_ISSUER')!
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  const isLoopback = url !== undefined && /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(url.hostname)
  const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback)
  if (!url || !isAllowed || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new StartError(
      'PENSTOCK_OIDC_ISSUER must be the https address by which the provider names itself, such as https://accounts.example.com ' +
        '(http only on this machine).',
    )
  }
  if (name !== undefined && name.length > 50)
    throw new StartError('PENSTOCK_OIDC_NAME must have at most 50 characters.')
  const file = read('PENSTOCK_OIDC_CLIENT_SECRET_FILE')!
  const clientSecret = readSettingFile('PENSTOCK_OIDC_CLIENT_SECRET_FILE', file)
  const open = explainFileMode(file, statSync(file))
  if (open) throw new StartError(`PENSTOCK_OIDC_CLIENT_SECRET_FILE=${open.found}: ${open.remedy}.`)
  if (clientSecret === '') throw new StartError(`PENSTOCK_OIDC_CLIENT_SECRET_FILE=${file} is empty.`)
  return {
    issuer,
    clientId: read('PENSTOCK_OIDC_CLIENT_ID')!,
    clientSecret: new Secret(clientSecret),
    name: name ?? 'single sign-on',
  }
}

function readSettingFile(name: Name, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartError(`${name}=${file} cannot be read (${code}).`)
  }
}

function readCertificates(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  const text = readSettingFile('PENSTOCK_CA_CERTIFICATES', file)
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    for (const block of blocks) new X509Certificate(block)
    if (blocks.length > 0) return blocks.join('\n')
  } catch {
    // Reported below.
  }
  throw new StartError(`PENSTOCK_CA_CERTIFICATES=${file} must have certificates as PEM, and contains no valid one.`)
}

function readReversePrivateEndpoints(file: string | undefined): ReversePrivateEndpoints {
  if (file === undefined) return new Map()
  const text = readSettingFile('PENSTOCK_REVERSE_PRIVATE_ENDPOINTS', file)
  return parseReversePrivateEndpoints(text, (problem) => {
    throw new StartError(`PENSTOCK_REVERSE_PRIVATE_ENDPOINTS=${file} is invalid: ${problem}.`)
  })
}

function readTryEngine(text: string | undefined): Config['tryEngine'] {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    // Without the value, because it contains a password.
    throw new StartError(
      'PENSTOCK_TRY_ENGINE must be the address of a ClickHouse, such as http://user:password@host:8123.',
    )
  }
  // `URL` leaves the default ports of HTTP out, and an engine has others.
  const port = Number(/:(\d+)\/?$/.exec(text)?.[1] ?? enginePorts[url.protocol])
  const username = decodeAccount(url.username) || 'default'
  const password = new Secret(decodeAccount(url.password))
  return { url: `${url.protocol}//${url.hostname}:${port}`, username, password }
}

const enginePorts: Record<string, number> = { 'http:': 8123, 'https:': 8443 }

function decodeAccount(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new StartError(
      'PENSTOCK_TRY_ENGINE must have the user name and the password URL-encoded: write % as %25, and @ as %40.',
    )
  }
}

/** A size in bytes; undefined when the text is invalid. */
function readSize(text: string): number | undefined {
  if (text === '0') return 0
  const [, count, unit] = /^([1-9]\d{0,5}) ?(MiB|GiB|TiB)$/.exec(text) ?? []
  if (unit === undefined) return undefined
  return Number(count) * { MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }[unit as 'MiB' | 'GiB' | 'TiB']
}

/** `service=http://host:port`; undefined when an entry is invalid. */
function readAwsEndpoints(text: string): SourceContext['awsEndpoints'] | undefined {
  const endpoints: SourceContext['awsEndpoints'] = {}
  for (const entry of text.split(',').flatMap((part) => part.trim() || [])) {
    const [, service, url = ''] = /^(kinesis|s3|sts)=(\S+)$/.exec(entry) ?? []
    const origin = originOf(url)
    if (service === undefined || origin === undefined) return undefined
    endpoints[service as keyof typeof endpoints] = origin
  }
  return endpoints
}

/** `provider/region=endpointServiceId/privateDnsHostname`; undefined when an entry is invalid. */
function readEndpointServices(text: string): OperationSettings['privateEndpointServices'] | undefined {
  const services: OperationSettings['privateEndpointServices'] = {}
  for (const entry of text.split(',').flatMap((part) => part.trim() || [])) {
    const match = /^((?:aws|gcp|azure)\/[a-z0-9-]+)=(\S+)\/([A-Za-z0-9.-]+)$/.exec(entry)
    if (!match) return undefined
    services[match[1]!] = { endpointServiceId: match[2]!, privateDnsHostname: match[3]! }
  }
  return services
}
