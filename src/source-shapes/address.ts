// Formats of source addresses: hosts, ports, broker lists and URLs.
import { isIP } from 'node:net'
import { bracketedHostPattern, hostPattern, isHost, longestHost } from '../lib/host.ts'
import { Type } from '../lib/schema.ts'
import { quote } from '../lib/shape-rules.ts'

export const Host = Type.String({
  minLength: 1,
  maxLength: longestHost,
  pattern: hostPattern,
  patternHint: 'a host name or an IP address',
  description: 'Host name or IP address of the server.',
})

const largestPort = 65_535
export const Port = Type.Integer({ minimum: 1, maximum: largestPort, description: 'TCP port of the server.' })

/** `host:port`, with an IPv6 address in brackets. */
function isBroker(text: string): boolean {
  const [, address, name, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) < 1 || Number(port) > largestPort) return false
  return address === undefined ? isHost(name!) : isIP(address) === 6 && isHost(address)
}

const broker = `${bracketedHostPattern}:\\d{1,5}`

/** Shape of a broker list; `brokersProblem` checks the rest. */
export const brokersPattern = `^${broker}(?:,${broker})*$`

/** The error of a broker list; undefined when it is valid. */
export function brokersProblem(brokers: string): string | undefined {
  const wrong = brokers.split(',').find((broker) => !isBroker(broker))
  if (wrong === undefined) return undefined
  // Not quoted with an @: there may be a password before it.
  const found = wrong.includes('@') ? 'a user name' : quote(wrong)
  return `must be "host:port", separated by commas and nothing else, but has ${found}`
}

const authority = '(?:\\[[0-9A-Fa-f:.]+\\]|[^\\s/?#@:\\[\\]<>^|\\\\]+)(?::\\d{0,5})?'
const withAuthority = `\\/\\/${authority}`
const http = '[Hh][Tt][Tt][Pp][Ss]?'

/** Shapes of URLs; `urlProblem` checks the rest, and that they have no secrets. */
export const httpUrlPattern = `^${http}:${withAuthority}(?:[/?#]\\S*)?$`
export const objectUrlPattern = `^(?:${http}|[Ss]3|[Gg][Ss]):${withAuthority}(?:[/?#]\\S*)?$`
/** The queue is the last part of the path. No length limit in the pattern: it would take clients more than linear time. */
export const queueUrlPattern = `^${http}:${withAuthority}(?:\\/[^/?#\\s]*)*?\\/[\\w.-]+\\/*(?:[?#]\\S*)?$`

/** The error of a URL that everyone may see; undefined when it is valid. Never quotes the URL: it may have a secret. */
export function urlProblem(text: string, schemes: string[]): string | undefined {
  const must = `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')} and a host`
  // No backslash: parsers disagree on whether it ends the host.
  const [, scheme, authority] = /^([a-z0-9]+):\/\/([^/?#\s\\]+)(?:[/?#]\S*)?$/i.exec(text) ?? []
  if (scheme === undefined || !schemes.includes(scheme.toLowerCase()) || !URL.canParse(text)) return must
  if (authority!.includes('@')) return 'must not hold a user name or a password: it is shown to everyone'
  const holdsSecret = parameterNames(text).some((name) => secretParameter.test(name))
  return holdsSecret ? 'must not hold a signature, a token or a password: it is shown to everyone' : undefined
}

const secretParameter = /^(?:sig|pwd)$|token$|signature|credential|access[-_]?key|api[-_]?key|password|passwd|secret/i

/**
 * The decoded names of all parameters of a URL: in the query and in the fragment, separated by `&` or `;`. A question mark of a glob
 * pattern begins a parameter only if an equals sign follows.
 */
function parameterNames(url: string): string[] {
  const [, ...parts] = url.split(/[?&;#]/)
  const decoded = parts.flatMap((part) => decode(part.replaceAll('+', ' ')).split(/[?&;#]/))
  return decoded.filter((part) => part.includes('=')).map((part) => part.slice(0, part.indexOf('=')).trim())
}

function decode(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
}
