// The head of an answer to GET or POST, where it is as simple as those of stores of objects are. Of everything else nothing is guessed: it is left to
// a reader of HTTP that knows all of it.
import { Buffer } from 'node:buffer'
import type { DirectConnection } from './direct-connection.ts'

export interface AnswerHead {
  status: number
  /** By their names in small letters. */
  headers: Record<string, string>
  /** Of the body. */
  sizeBytes: number
  /** Another request may follow. */
  isKeptOpen: boolean
}

const maxHeadBytes = 16 * 1024
const headEnd = '\r\n\r\n'

/** Takes nothing of the body. Undefined when the head is not so simple; then nothing more can be read. */
export async function readHead(connection: DirectConnection): Promise<AnswerHead | undefined> {
  let bytes: Buffer = Buffer.alloc(0)
  for (;;) {
    bytes = Buffer.concat([bytes, await connection.some()])
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
    // A folded header line has no name either.
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[\r\n\0]/.test(value)) return undefined
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  const length = headers['content-length']
  // Given twice, it has a comma.
  if (length === undefined || !/^\d{1,15}$/.test(length) || 'transfer-encoding' in headers) return undefined
  const isKeptOpen = !/\bclose\b/i.test(headers.connection ?? '')
  return { status: Number(status), headers, sizeBytes: Number(length), isKeptOpen }
}

/** Each end is looked at once: an expression for blanks, text and blanks tries every way to divide them, in cubic time. */
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
