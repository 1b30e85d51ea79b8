// A real OpenID provider on loopback, and a simulated browser user; only the pages are left out.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider, type ProviderContext } from 'oidc-provider'

export interface Claims {
  sub: string
  email?: string
  email_verified?: unknown
  name?: string
}

export interface TestProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** The user who signs in next; null returns without signing in. */
  person: Claims | null
  /** Follows the redirect of Penstock until the provider redirects back, and returns that address. */
  visit(location: string): Promise<URL>
  close(): Promise<void>
}

const clientId = 'penstock'
const clientSecret = 'canary-client-secret-of-the-provider-0123456789'

export async function startOpenidProvider(redirectUri: string): Promise<TestProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Claims>()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['a key of the test provider'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    interactions: { url: () => '/sign-in' },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => people.get(accountId) }),
    // Skips the consent page.
    async loadExistingGrant({ oidc }: ProviderContext) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const answer = provider.callback()
  server.on('request', (request, response) => {
    if (request.url !== '/sign-in') return answer(request, response)
    const { person } = testProvider
    if (person) people.set(person.sub, person)
    const result = person ? { login: { accountId: person.sub } } : { error: 'access_denied' }
    void provider.interactionFinished(request, response, result)
  })

  const testProvider: TestProvider = {
    issuer,
    clientId,
    clientSecret,
    person: null,
    async visit(location) {
      const cookies = new Map<string, string>()
      let url = new URL(location)
      while (url.origin === issuer) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
        await response.arrayBuffer()
        for (const header of response.headers.getSetCookie()) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(header)!
          if (value === '') cookies.delete(name!)
          else cookies.set(name!, value!)
        }
        const next = response.headers.get('location')
        if (next === null) throw new Error(`the provider answered ${response.status} at ${url.pathname}`)
        url = new URL(next, url)
      }
      return url
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return testProvider
}
