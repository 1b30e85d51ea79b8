import { text as readAll } from 'node:stream/consumers'
import { basicAuthorization, envelopeOf, errorOf, isSuccess, Transport } from '../client/transport.ts'
import { printable } from './call-output.ts'
import {
  type Credentials,
  credentialsFile,
  namesInEnvironment,
  removeCredentials,
  writeCredentials,
} from './credentials.ts'
import { CommandFailure, exitCodes, explainKey, orFail, usageFailure } from './failure.ts'
import { Questions } from './questions.ts'

export interface LoginOptions {
  url?: string
  keyId?: string
  keySecretStdin?: true
}

const defaultUrl = 'http://127.0.0.1:8080'

/** Stores credentials after the server has accepted them. The secret is never an argument, because other users can see those. */
export async function login(options: LoginOptions): Promise<void> {
  await orFail(async () => {
    const { url, keyId, keySecret } = await askForMissing(options)
    if (!keyId || !keySecret) throw usageFailure('The id and the secret of the key must not be empty.')
    const transport = new Transport({ url, userAgent: 'penstock-cli' }, basicAuthorization({ url, keyId, keySecret }))
    const organization = await organizationOf(transport, keyOriginOf(options))
    const credentials: Credentials = {
      url: transport.url,
      keyId,
      keySecret,
      organizationId: organization.id,
    }
    const file = writeCredentials(credentials)
    console.log(`Logged in to ${transport.url}, organization ${printable(organization.name)} (${organization.id}).`)
    console.log(`The key is kept in ${file}; "penstock logout" removes it.`)
    const winning = namesInEnvironment()
    if (winning.length > 0) {
      console.error(
        `Note that ${winning.join(' and ')} of the environment ${winning.length === 1 ? 'wins' : 'win'} over it.`,
      )
    }
    if (crossesNetworkInTheClear(transport.url)) {
      console.error('Note that the key crosses the network in the clear: the URL begins with http://.')
    }
  })
}

async function askForMissing(options: LoginOptions): Promise<{ url: string; keyId: string; keySecret: string }> {
  const questions = new Questions(usageFailure)
  try {
    const url =
      options.url ?? (await questions.ask('--url', `URL of Penstock (${defaultUrl})`, { otherwise: defaultUrl }))
    const keyId = options.keyId ?? (await questions.ask('--key-id', 'Key id'))
    const keySecret = options.keySecretStdin
      ? await readAll(process.stdin)
      : await questions.ask('--key-secret-stdin', 'Key secret (not shown)', { hidden: true })
    return { url, keyId: keyId.trim(), keySecret: keySecret.trim() }
  } finally {
    questions.close()
  }
}

function keyOriginOf({ keyId, keySecretStdin }: LoginOptions): string {
  const ofId = keyId === undefined ? 'the terminal' : '--key-id'
  const ofSecret = keySecretStdin ? 'standard input' : 'the terminal'
  return ofId === ofSecret ? ofId : `${ofId} and ${ofSecret}`
}

export async function logout(): Promise<void> {
  await orFail(async () => {
    console.log(
      removeCredentials() ? `Removed ${credentialsFile()}. The key itself still works.` : 'There were no credentials.',
    )
  })
}

/** The one organization of the key. */
async function organizationOf(transport: Transport, keyOrigin: string): Promise<{ id: string; name: string }> {
  const received = await transport.send({ method: 'GET', path: '/v1/organizations', params: {} })
  if (!isSuccess(received)) throw explainKey(errorOf(received), keyOrigin)
  const [organization] = [envelopeOf(received).result].flat() as { id: string; name: string }[]
  if (typeof organization?.id !== 'string') {
    throw new CommandFailure('The key was accepted, but it belongs to no organization.', exitCodes.refused)
  }
  return organization
}

function crossesNetworkInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname)
}
