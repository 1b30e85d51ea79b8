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
    // Also of a header that goes on in the next line: that is none of these.
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\r\n\0]*?)[ \t]*$/.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    const known = name.toLowerCase()
    headers[known] = known in headers ? `${headers[known]}, ${value}` : value
  }
  const length = headers['content-length']
  // Given twice, it has a comma.
  if (length === undefined || !/^\d{1,15}$/.test(length) || 'transfer-encoding' in headers) return undefined
  const isKeptOpen = !/\bclose\b/i.test(headers.connection ?? '')
  return { status: Number(status), headers, sizeBytes: Number(length), isKeptOpen }
}
