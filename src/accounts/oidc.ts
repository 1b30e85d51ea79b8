// Signing in with an OpenID provider: the authorization code flow with PKCE, state and nonce. What has to be remembered while
// the person is at the provider travels in a cookie, sealed; the server keeps nothing. Who comes back is found by issuer and
// subject, or, once, by an email address that the provider says it has verified.
import type { Configuration } from 'openid-client'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { Secret } from '../lib/secret.ts'
import { formats } from '../lib/shape.ts'
import type { SealContext, Vault } from '../lib/vault.ts'
import { nameOf } from './account.ts'
import type { OidcSignIn } from './sign-in-with-oidc.ts'

export interface OidcSettings {
  /** To the letter as the provider names itself. */
  issuer: string
  clientId: string
  clientSecret: Secret
  /** What the button says. */
  name: string
}

/** Why somebody was not let in. The console has a sentence for each; it gets the code as `/console/sign-in?problem=…`. */
export const oidcProblems = {
  oidc_unreachable: 'the provider does not answer or is not set up as it should be',
  oidc_attempt_expired: 'the way back did not belong to a sign-in that was begun in this browser within ten minutes',
  oidc_denied: 'the provider did not let the person in, or the person went back',
  oidc_failed: 'what the provider answered was not acceptable',
  oidc_email_missing: 'nobody is bound to the identity, and the provider did not tell its email address',
  oidc_email_not_verified:
    'nobody is bound to the identity, and the provider did not say that its email address is verified',
  oidc_other_identity: 'the account with the email address is bound to another identity of the provider',
  oidc_invited: 'the person has no account but an invitation, and did not come from its page',
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

/** What must be the same when the person comes back. */
interface Attempt {
  state: string
  nonce: string
  codeVerifier: string
  to: string
  expireAtMs: number
}

export const attemptSeconds = 600

const attemptPlace: SealContext = { organizationId: '', table: 'cookies', row: 'oidc', field: 'attempt' }

const firstPage = '/console/'

/** Who the provider says has come. */
export interface OidcPerson {
  /** The issuer and the subject: the name of a person at one provider that never changes. */
  oidcSubject: string
  email: string | undefined
  emailVerified: boolean
  name: string | undefined
}

export interface OidcParts {
  settings: OidcSettings
  publicUrl: string
  vault: Vault
  /** Lets the person in who has come back. */
  signIn(input: OidcSignIn): Promise<{ sessionToken: string } | { problem: OidcProblem }>
  log: Log
}

/** How the browser comes back. */
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

  /** Where to send the browser, and what it must bring back. */
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
    return { location: location.href, attempt: this.#parts.vault.seal(JSON.stringify(attempt), attemptPlace) }
  }

  /** Where to go on to, and with which session. `query` is what the provider added to our address, with its `?`. */
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
    // Asked before anything else is believed, also of an answer that only says why it failed.
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

  /** Where the attempt was to lead, also when its time is over; undefined when it is not one of ours. */
  pageOfAttempt(sealed: string | undefined): string | undefined {
    return this.#unsealAttempt(sealed)?.to
  }

  #unsealAttempt(sealed: string | undefined): Attempt | undefined {
    try {
      return sealed === undefined ? undefined : (JSON.parse(this.#parts.vault.open(sealed, attemptPlace)) as Attempt)
    } catch {
      return undefined
    }
  }

  #openAttempt(sealed: string | undefined): Attempt {
    const attempt = this.#unsealAttempt(sealed)
    if (!attempt || attempt.expireAtMs <= Date.now()) throw new OidcError('oidc_attempt_expired')
    return attempt
  }

  /** What the provider says about itself, asked when it is first needed; a failure is not remembered. */
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

  /** The code for the console, and a line for the operator: the kind of failure only, since a provider may quote what it was sent. */
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
        // The identity counts because the provider signed it, not only because of whom we asked.
        client.enableNonRepudiationChecks,
        // The configuration admits http only on this machine.
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
  // Checked as it was sent: a letter of another script must not become one of the address of somebody else.
  const email = text('email')
  const isEmail = email !== undefined && email.length <= 254 && formats.email!.accepts(email)
  return {
    oidcSubject,
    email: isEmail ? asciiLowerCase(email) : undefined,
    emailVerified: claims.email_verified === true,
    name: nameOf(text('name')) ?? nameOf([text('given_name'), text('family_name')].join(' ')),
  }
}

/** What OAuth calls the failure, such as `invalid_client`; its words are fixed and quote nothing. */
function errorCodeOf(cause: unknown): string {
  const code = (cause as { error?: unknown } | undefined)?.error
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? ` (${code})` : ''
}

/** The connection failed, or there was no answer in time. */
function isUnreachable(error: unknown): boolean {
  const { name, cause, code } = error as { name?: string; cause?: unknown; code?: string }
  if (name === 'TimeoutError' || code === 'OAUTH_TIMEOUT' || code === 'ECONNREFUSED') return true
  if (name === 'TypeError' && code === undefined) return true
  return cause instanceof Error && isUnreachable(cause)
}

/** Only pages of the console: whoever makes a link to the sign-in must not choose where it ends. */
export function pageOfConsole(to: string | undefined): string {
  if (to === undefined || to.length > 1024 || /[\p{Cc}\\]/u.test(to) || !to.startsWith(firstPage)) return firstPage
  // Dots are resolved as a browser would.
  const { pathname, search } = new URL(to, 'http://console.invalid')
  const isPage = pathname.startsWith(firstPage) && !/^\/console\/(?:api|oidc)(?:\/|$)/.test(pathname)
  return isPage ? `${pathname}${search}` : firstPage
}
