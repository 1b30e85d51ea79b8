// Where a source is found: hosts, ports, lists of brokers and URLs, as people write them.
import { isIP } from 'node:net'
import { bracketedHostPattern, hostPattern, isHost, longestHost } from '../lib/host.ts'
import { Type } from '../lib/schema.ts'
import { quote } from '../lib/shape-rules.ts'

export const Host = Type.String({
  minLength: 1,
  maxLength: longestHost,
  pattern: hostPattern,
  patternHint: 'a host name or an IP address',
})

const largestPort = 65_535
export const Port = Type.Integer({ minimum: 1, maximum: largestPort })

/** `host:port`; an IPv6 address stands in brackets. */
function isBroker(text: string): boolean {
  const [, address, name, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) < 1 || Number(port) > largestPort) return false
  return address === undefined ? isHost(name!) : isIP(address) === 6 && isHost(address)
}

const broker = `${bracketedHostPattern}:\\d{1,5}`

/** For the shape of a list of brokers; `brokersProblem` has the last word. */
export const brokersPattern = `^${broker}(?:,${broker})*$`

/** What is wrong with a list of brokers; undefined when nothing is. */
export function brokersProblem(brokers: string): string | undefined {
  const wrong = brokers.split(',').find((broker) => !isBroker(broker))
  if (wrong === undefined) return undefined
  // Before an @ there may be a password.
  const told = wrong.includes('@') ? 'a user name' : quote(wrong)
  return `must be "host:port", separated by commas and nothing else, but has ${told}`
}

const authority = '(?:\\[[0-9A-Fa-f:.]+\\]|[^\\s/?#@:\\[\\]<>^|\\\\]+)(?::\\d{0,5})?'
const withAuthority = `\\/\\/${authority}`
const http = '[Hh][Tt][Tt][Pp][Ss]?'

/** For the shapes of URLs; `urlProblem` has the last word, which also looks for secrets in them. */
export const httpUrlPattern = `^${http}:${withAuthority}(?:[/?#]\\S*)?$`
export const objectUrlPattern = `^(?:${http}|[Ss]3|[Gg][Ss]):${withAuthority}(?:[/?#]\\S*)?$`
/** A queue is the last part of the path. Without a limit, which costs clients more than linear time. */
export const queueUrlPattern = `^${http}:${withAuthority}(?:\\/[^/?#\\s]*)*?\\/[\\w.-]+\\/*(?:[?#]\\S*)?$`

/** What is wrong with a URL that everyone may see; undefined when nothing is. Never quotes it: it may hold a secret. */
export function urlProblem(text: string, schemes: string[]): string | undefined {
  const must = `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')} and a host`
  // A backslash ends the host for some readers and not for others.
  const [, scheme, authority] = /^([a-z0-9]+):\/\/([^/?#\s\\]+)(?:[/?#]\S*)?$/i.exec(text) ?? []
  if (scheme === undefined || !schemes.includes(scheme.toLowerCase()) || !URL.canParse(text)) return must
  if (authority!.includes('@')) return 'must not hold a user name or a password: it is shown to everyone'
  const holdsSecret = parameterNames(text).some((name) => secretParameter.test(name))
  return holdsSecret ? 'must not hold a signature, a token or a password: it is shown to everyone' : undefined
}

const secretParameter = /^(?:sig|pwd)$|token$|signature|credential|access[-_]?key|api[-_]?key|password|passwd|secret/i

/**
 * The names of all parameters of a URL, as whoever gets it may read them: of the query and of the fragment, also after a
 * semicolon, decoded. A question mark in a glob pattern begins no parameter unless an equals sign follows.
 */
function parameterNames(url: string): string[] {
  const [, ...parts] = url.split(/[?&;#]/)
  const decoded = parts.flatMap((part) => decode(part.replaceAll('+', ' ')).split(/[?&;#]/))
  return decoded.filter((part) => part.includes('=')).map((part) => part.slice(0, part.indexOf('=')).trim())
}

function decode(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
}
