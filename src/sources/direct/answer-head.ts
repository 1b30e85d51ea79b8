// Parser for the heads of simple HTTP/1.1 answers to GET and POST, as object stores send them. Other answers are left to a complete
// HTTP client.
import { Buffer } from 'node:buffer'
import type { DirectConnection } from './direct-connection.ts'

export interface AnswerHead {
  status: number
  /** By lower-case name. */
  headers: Record<string, string>
  /** Size of the body. */
  sizeBytes: number
  /** The connection can be used again. */
  isKeptOpen: boolean
}

const maxHeadBytes = 16 * 1024
const headEnd = '\r\n\r\n'

/** Leaves the body on the connection. Undefined for an unsupported head; the connection can then not be used any more. */
export async function readHead(connection: DirectConnection): Promise<AnswerHead | undefined> {
  let bytes: Buffer = Buffer.alloc(0)
  for (;;) {
    bytes = Buffer.concat([bytes, await connection.readSome()])
    const end = bytes.indexOf(headEnd)
    if (end === -1 && bytes.length < maxHeadBytes) continue
    if (end === -1 || end > maxHeadBytes) return undefined
    connection.putBack(bytes.subarray(end + headEnd.length))
    return parseHead(bytes.toString('latin1', 0, end))
  }
}

function parseHead(text: string): AnswerHead | undefined {
  const [first = '', ...lines] = text.split('\r\n')
  const [, status] = /^HTTP\/1\.1 ([2-5]\d\d)(?: [^\r\n]*)?$/.exec(first) ?? []
  if (status === undefined || status === '204' || status === '205' || status === '304') return undefined
  const headers: Record<string, string> = Object.create(null)
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    const value = trimBlanks(line.slice(colon + 1))
    // Also rejects folded header lines.
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[\r\n\0]/.test(value)) return undefined
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  const length = headers['content-length']
  // A repeated header contains a comma.
  if (length === undefined || !/^\d{1,15}$/.test(length) || 'transfer-encoding' in headers) return undefined
  const isKeptOpen = !/\bclose\b/i.test(headers.connection ?? '')
  return { status: Number(status), headers, sizeBytes: Number(length), isKeptOpen }
}

/** Linear time: a regular expression for blanks, text and blanks takes cubic time. */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Space and tab, the only white space around a value (RFC 9110, 5.5). */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
