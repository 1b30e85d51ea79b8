// Sign-in with OpenID Connect: authorization code flow with PKCE, state and nonce. The attempt is kept in a sealed cookie; the server
// stores nothing. A person is found by issuer and subject, or the first time by an email address that the provider has verified.
import type { Configuration } from 'openid-client'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { Secret } from '../lib/secret.ts'
import { formats } from '../lib/shape-formats.ts'
import type { SealContext, Vault } from '../lib/vault.ts'
import { nameOf } from './account.ts'

export interface OidcSettings {
  /** Must equal the `issuer` of the provider's metadata. */
  issuer: string
  clientId: string
  clientSecret: Secret
  /** Shown on the sign-in button. */
  name: string
}

/** Reasons of a failed sign-in. The console gets the code as `/console/sign-in?problem=…` and has a sentence for each. */
export const oidcProblems = {
  oidc_unreachable: 'the provider does not answer or its configuration is invalid',
  oidc_attempt_expired: 'the callback does not match a sign-in that was started in this browser in the last 10 minutes',
  oidc_denied: 'the provider denied the sign-in, or the person cancelled it',
  oidc_failed: 'the response of the provider is invalid',
  oidc_email_missing: 'no account is bound to the identity, and the provider did not send an email address',
  oidc_email_not_verified:
    'no account is bound to the identity, and the provider did not report the email address as verified',
  oidc_other_identity: 'the account with the email address is bound to another identity of the provider',
  oidc_invited: 'the person has an invitation but no account, and did not start from the invitation page',
  oidc_unknown_person: 'the person has neither an account nor an invitation',
  oidc_busy: 'too many sign-ins from this network are waiting for the provider',
} as const

export type OidcProblem = keyof typeof oidcProblems

class OidcError extends Error {
  readonly problem: OidcProblem

  constructor(problem: OidcProblem, cause?: unknown) {
    super(oidcProblems[problem], { cause })
    this.name = 'OidcError'
    this.problem = problem
  }
}

/** Checked when the browser returns from the provider. */
interface Attempt {
  state: string
  nonce: string
  codeVerifier: string
  to: string
  expireAtMs: number
}

export const attemptSeconds = 600

const attemptContext: SealContext = { organizationId: '', table: 'cookies', row: 'oidc', field: 'attempt' }

const firstPage = '/console/'

/** The identity that the provider asserts. */
export interface OidcPerson {
  /** Issuer and subject: the permanent identifier of a person at a provider. */
  oidcSubject: string
  email: string | undefined
  emailVerified: boolean
  name: string | undefined
}

export interface OidcSignIn {
  person: OidcPerson
  /** The page that the sign-in was started for. */
  to: string
  address: string
  userAgent: string
}

export interface OidcParts {
  settings: OidcSettings
  publicUrl: string
  vault: Vault
  /** Opens a session for the person who returned. */
  signIn(input: OidcSignIn): Promise<{ sessionToken: string } | { problem: OidcProblem }>
  log: Log
}

/** The callback request. */
export interface OidcReturn {
  query: string
  /** The cookie that `begin` gave it. */
  attempt: string | undefined
  address: string
  userAgent: string
}

const answerWithinSeconds = 10
const discoveryKeptMs = 3_600_000

export class OidcFlow {
  readonly #parts: OidcParts
  #discovery: { configuration: Promise<Configuration>; atMs: number } | undefined

  constructor(parts: OidcParts) {
    this.#parts = parts
  }

  get redirectUri(): string {
    return `${this.#parts.publicUrl}/console/oidc/callback`
  }

  /** Returns the URL of the provider and the sealed attempt for the cookie. */
  async begin(to: string | undefined): Promise<{ location: string; attempt: string }> {
    const client = await import('openid-client')
    const configuration = await this.#discover()
    const attempt: Attempt = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
      to: pageOfConsole(to),
      expireAtMs: Date.now() + attemptSeconds * 1000,
    }
    const location = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.redirectUri,
      scope: 'openid email profile',
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(attempt.codeVerifier),
      code_challenge_method: 'S256',
    })
    return { location: location.href, attempt: this.#parts.vault.seal(JSON.stringify(attempt), attemptContext) }
  }

  /** Returns the page to open and the token of the new session. `query` begins with `?`. */
  async finish({
    query,
    attempt: sealed,
    address,
    userAgent,
  }: OidcReturn): Promise<{ to: string; sessionToken: string }> {
    const attempt = this.#openAttempt(sealed)
    const { to } = attempt
    const person = await this.#identify(query, attempt)
    const answer = await this.#parts.signIn({ person, to, address, userAgent })
    if ('problem' in answer) throw new OidcError(answer.problem)
    return { to, sessionToken: answer.sessionToken }
  }

  async #identify(query: string, attempt: Attempt): Promise<OidcPerson> {
    const returned = new URL(`${this.redirectUri}${query}`)
    // Checked first, also for an error response.
    if (returned.searchParams.get('state') !== attempt.state) throw new OidcError('oidc_attempt_expired')
    const client = await import('openid-client')
    const configuration = await this.#discover()
    try {
      const tokens = await client.authorizationCodeGrant(configuration, returned, {
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        pkceCodeVerifier: attempt.codeVerifier,
        idTokenExpected: true,
      })
      const { iss, ...identity } = tokens.claims()!
      const person: Record<string, unknown> =
        identity.email_verified === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
          ? await client.fetchUserInfo(configuration, tokens.access_token, identity.sub)
          : identity
      return personOf(`${iss} ${identity.sub}`, person)
    } catch (error) {
      if (error instanceof client.AuthorizationResponseError) throw new OidcError('oidc_denied', error)
      throw new OidcError(isUnreachable(error) ? 'oidc_unreachable' : 'oidc_failed', error)
    }
  }

  /** The page that the attempt was started for, even if it has expired; undefined if the cookie cannot be opened. */
  pageOfAttempt(sealed: string | undefined): string | undefined {
    return this.#unsealAttempt(sealed)?.to
  }

  #unsealAttempt(sealed: string | undefined): Attempt | undefined {
    try {
      return sealed === undefined ? undefined : (JSON.parse(this.#parts.vault.open(sealed, attemptContext)) as Attempt)
    } catch {
      return undefined
    }
  }

  #openAttempt(sealed: string | undefined): Attempt {
    const attempt = this.#unsealAttempt(sealed)
    if (!attempt || attempt.expireAtMs <= Date.now()) throw new OidcError('oidc_attempt_expired')
    return attempt
  }

  /** The provider's metadata, loaded on first use and cached for an hour; failures are not cached. */
  async #discover(): Promise<Configuration> {
    if (!this.#discovery || this.#discovery.atMs + discoveryKeptMs < performance.now()) {
      this.#discovery = { configuration: discover(this.#parts.settings), atMs: performance.now() }
    }
    const present = this.#discovery
    try {
      return await present.configuration
    } catch (error) {
      if (this.#discovery === present) this.#discovery = undefined
      throw new OidcError('oidc_unreachable', error)
    }
  }

  /** Returns the code for the console and logs the kind of failure, without the provider's text: it may quote secrets. */
  explain(error: unknown, requestId: string): OidcProblem {
    const problem = error instanceof OidcError ? error.problem : 'oidc_failed'
    const cause = error instanceof OidcError ? error.cause : error
    this.#parts.log.warn('a sign-in with OpenID Connect failed', {
      requestId,
      reason: `${problem}${errorCodeOf(cause)}: ${oidcProblems[problem]}`,
      ...(cause === undefined ? {} : { error: describeError(cause) }),
    })
    return problem
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const client = await import('openid-client')
  const server = new URL(issuer)
  const basic = client.ClientSecretBasic(clientSecret.reveal())
  const post = client.ClientSecretPost(clientSecret.reveal())
  return client.discovery(
    server,
    clientId,
    {},
    (metadata, ...rest) => {
      const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const authenticate = methods.includes('client_secret_basic') ? basic : post
      return authenticate(metadata, ...rest)
    },
    {
      timeout: answerWithinSeconds,
      execute: [
        // Verifies the signature of the ID token, also when it came directly from the provider over TLS.
        client.enableNonRepudiationChecks,
        // The configuration allows http only for loopback addresses.
        ...(server.protocol === 'http:' ? [client.allowInsecureRequests] : []),
      ],
    },
  )
}

function personOf(oidcSubject: string, claims: Record<string, unknown>): OidcPerson {
  const text = (name: string): string | undefined => {
    const value = claims[name]
    return typeof value === 'string' ? value : undefined
  }
  // Checked before lower-casing: a letter of another script must not turn into an ASCII letter of another person's address.
  const email = text('email')
  const isEmail = email !== undefined && email.length <= 254 && formats.email!.accepts(email)
  return {
    oidcSubject,
    email: isEmail ? asciiLowerCase(email) : undefined,
    emailVerified: claims.email_verified === true,
    name: nameOf(text('name')) ?? nameOf([text('given_name'), text('family_name')].join(' ')),
  }
}

/** The OAuth error code, such as `invalid_client`; it is from a fixed set and quotes nothing. */
function errorCodeOf(cause: unknown): string {
  const code = (cause as { error?: unknown } | undefined)?.error
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? ` (${code})` : ''
}

/** Whether the connection failed or timed out. */
function isUnreachable(error: unknown): boolean {
  const { name, cause, code } = error as { name?: string; cause?: unknown; code?: string }
  if (name === 'TimeoutError' || code === 'OAUTH_TIMEOUT' || code === 'ECONNREFUSED') return true
  if (name === 'TypeError' && code === undefined) return true
  return cause instanceof Error && isUnreachable(cause)
}

/** Restricts the redirect to pages of the console (no open redirect). */
export function pageOfConsole(to: string | undefined): string {
  if (to === undefined || to.length > 1024 || /[\p{Cc}\\]/u.test(to) || !to.startsWith(firstPage)) return firstPage
  // Resolves `..` as a browser does.
  const { pathname, search } = new URL(to, 'http://console.invalid')
  const isPage = pathname.startsWith(firstPage) && !/^\/console\/(?:api|oidc)(?:\/|$)/.test(pathname)
  return isPage ? `${pathname}${search}` : firstPage
}
