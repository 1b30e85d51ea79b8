// Azure storage account, parsed from a connection string: endpoint and credentials.
import { type FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'

export interface AzureAccount {
  /** Of the blob service, without a slash at its end: `https://name.blob.core.windows.net`. */
  endpoint: string
  /** Grants access to the whole account. */
  sharedKey?: { accountName: string; accountKey: string }
  /** Shared access signature: query parameters without the question mark. */
  accessSignature?: string
}

/** Throws a ProbeFailure of the step `connect`. A public container is read without keys, even if the string has some. */
export function azureAccount(connectionString: string, isPublic: boolean): AzureAccount {
  const parts = partsOf(connectionString)
  const { endpoint, query } = blobEndpoint(parts)
  if (isPublic) return { endpoint }
  const accountKey = parts.get('accountkey')
  if (accountKey !== undefined) {
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(accountKey)) {
      throw unusable('credentials_refused', 'the AccountKey in the connection string is not base64', 'copy it again')
    }
    const accountName = parts.get('accountname') ?? accountInUrl(endpoint)
    return { endpoint, sharedKey: { accountName, accountKey } }
  }
  const accessSignature = (parts.get('sharedaccesssignature') ?? query).replace(/^\?/, '')
  if (accessSignature === '') {
    const reason = 'the connection string has neither AccountKey nor SharedAccessSignature'
    throw unusable(
      'credentials_refused',
      reason,
      'copy the whole string, or take the authentication away if it is public',
    )
  }
  return { endpoint, accessSignature }
}

/** By their names in lower case: some of Azure's own tools ignore the case. */
function partsOf(connectionString: string): Map<string, string> {
  const parts = connectionString.split(';').map((part): [string, string] => {
    const equals = part.indexOf('=')
    return [part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim()]
  })
  return new Map(parts.filter(([name, value]) => name !== '' && value !== ''))
}

function blobEndpoint(parts: Map<string, string>): { endpoint: string; query: string } {
  const given = parts.get('blobendpoint')
  if (given !== undefined) {
    const [, endpoint, query] = /^(https?:\/\/[^/?#@\s]+(?:\/[^/?#\s]+)*)\/*(?:\?(\S*))?$/i.exec(given) ?? []
    if (endpoint !== undefined && URL.canParse(endpoint)) return { endpoint, query: query ?? '' }
    const reason = 'the BlobEndpoint in the connection string is not a URL of http or https'
    throw unusable('not_found', reason, 'copy it again')
  }
  if (parts.has('usedevelopmentstorage')) {
    const reason = 'UseDevelopmentStorage has no address that Penstock can reach'
    throw unusable('not_set_up', reason, 'send AccountName, AccountKey and BlobEndpoint')
  }
  const accountName = parts.get('accountname')
  if (accountName === undefined) {
    const reason = 'the connection string has neither BlobEndpoint nor AccountName'
    throw unusable('not_found', reason, 'copy the whole string')
  }
  const protocol = parts.get('defaultendpointsprotocol')?.toLowerCase() ?? 'https'
  const host = `${accountName}.blob.${parts.get('endpointsuffix') ?? 'core.windows.net'}`
  if (!/^[\w.-]+$/.test(host) || (protocol !== 'http' && protocol !== 'https')) {
    const reason = 'the connection string has a name or a protocol that no account has'
    throw unusable('not_found', reason, 'check AccountName, EndpointSuffix and DefaultEndpointsProtocol')
  }
  return { endpoint: `${protocol}://${host}`, query: '' }
}

/** With a custom endpoint, the account name is the first part of the path; otherwise it is in the host. */
function accountInUrl(endpoint: string): string {
  const { hostname, pathname } = new URL(endpoint)
  return pathname.split('/')[1] || hostname.split('.')[0]!
}

function unusable(code: FailureCode, reason: string, remedy: string): ProbeFailure {
  return new ProbeFailure({ step: 'connect', code, reason, remedy, field: 'connectionString' })
}
