// Resolves host names. The system resolver blocks one of a few threads and cannot be aborted, so that names with unresponsive servers
// would delay all others. Names that users give are resolved here, in the system's order: the hosts file, then DNS with the search
// domains.
import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { asciiLowerCase } from './ascii-case.ts'

/** Returns the addresses of a name; returns an empty list or rejects when it has no address. Ends with the signal. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>

export const resolveBySystem: Resolve = async (name) => {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

export interface ResolverSettings {
  hostsFile: string
  configurationFile: string
  /** Default: those of the system. */
  servers?: string[]
}

/** For one query to one server; a server is queried twice. */
const questionTimeoutMs = 1_000

export function makeResolve({ hostsFile, configurationFile, servers }: ResolverSettings): Resolve {
  return async (name, signal) => {
    const known = addressesInHosts(await readText(hostsFile), name)
    if (known.length > 0) return known
    const searched = searchDomains(await readText(configurationFile)).map((domain) => `${name}.${domain}`)
    // One resolver per name, because `cancel` cancels all queries of a resolver.
    const resolver = new Resolver({ timeout: questionTimeoutMs, tries: 2 })
    if (servers) resolver.setServers(servers)
    const stop = (): void => resolver.cancel()
    signal.addEventListener('abort', stop, { once: true })
    try {
      for (const candidate of name.includes('.') ? [name, ...searched] : [...searched, name]) {
        if (signal.aborted) break
        const answers = await Promise.allSettled([resolver.resolve4(candidate), resolver.resolve6(candidate)])
        const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
        if (addresses.length > 0) return addresses
      }
      return []
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

export const resolveWithLimit = makeResolve({ hostsFile: '/etc/hosts', configurationFile: '/etc/resolv.conf' })

function addressesInHosts(text: string, name: string): string[] {
  return wordsOfLines(text).flatMap(([address = '', ...names]) =>
    names.some((known) => asciiLowerCase(known) === asciiLowerCase(name)) ? [address] : [],
  )
}

/** The last such line counts. */
function searchDomains(text: string): string[] {
  const [, ...domains] = wordsOfLines(text).findLast(([word]) => word === 'search' || word === 'domain') ?? []
  return domains.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '')
}

function wordsOfLines(text: string): string[][] {
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  )
}

/** Empty when the file does not exist. */
async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
