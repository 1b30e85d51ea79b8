// Classifies ClickHouse errors: caused by the rows, passing, or for the user to fix. Messages are our own; ClickHouse's text stays in
// `detail`, which is written only to ClickHouse.
import { EgressError } from '../lib/egress.ts'
import { addressText, describeFailure, type EngineAddress } from './check.ts'
import { EngineAccessError, EngineError } from './engine.ts'
import {
  brokenOff,
  codesOfRows,
  type Meaning,
  passingCodes,
  refusedSignIn,
  refusedStatement,
  userCodes,
} from './error-meanings.ts'

const maxDetailLength = 2_000

const manyPartitions: Meaning =
  'refuses an insert into so many partitions; partition the table by fewer, larger ones, or raise max_partitions_per_insert_block for the user'

/** Errors of reading, writing, opening or creating a file or folder. */
const codesOfFiles = [74, 75, 76, 481]
const unwritableFolder: Meaning =
  'may not write to its own data folder; give the user that the engine runs as the right to write there'

const rejectedRows: Meaning = 'rejects some of the rows'

export interface EngineFailureParts {
  /** 0 when unknown. */
  code: number
  status: number
  /** Error text of ClickHouse. */
  text: string
  /** Whether rows were sent with the statement: then an unknown error is caused by the rows. */
  hasRows: boolean
}

/** For an answer that is an error, or not from ClickHouse. */
export function engineFailure(address: EngineAddress, parts: EngineFailureParts): EngineError {
  const { code, status, text, hasRows } = parts
  const detail = text.trim().slice(0, maxDetailLength)
  const hostAndPort = addressText(address)
  const failed = (kind: EngineError['kind'], meaning: Meaning): EngineError => {
    const sentence = `the engine at ${hostAndPort} ${meaning}${code > 0 ? ` (its error ${code})` : ''}`
    return meaning === refusedSignIn
      ? new EngineAccessError(sentence, detail, code)
      : new EngineError(kind, sentence, detail, code)
  }
  const hasManyPartitions = code === 565 || (code === 252 && /partitions for single INSERT block/i.test(text))
  if (hasManyPartitions) return failed('user', manyPartitions)
  const isOfFile = code >= 1000 || codesOfFiles.includes(code)
  if (isOfFile && /permission denied|read-only file system|access to file denied/i.test(text)) {
    return failed('user', unwritableFolder)
  }
  // Codes from 1000 on come from libraries and the system, never from rows.
  if (passingCodes.has(code) || code >= 1000) return failed('passing', passingCodes.get(code) ?? brokenOff)
  const usersMeaning = hasRows && codesOfRows.includes(code) ? undefined : userCodes.get(code)
  if (usersMeaning !== undefined) return failed('user', usersMeaning)
  if (code > 0) return hasRows ? failed('data', rejectedRows) : failed('user', refusedStatement)
  if (status === 401 || status === 403) return failed('user', refusedSignIn)
  // Proxies in front of ClickHouse answer like this while it restarts.
  return new EngineError(
    'passing',
    `what answers at ${hostAndPort} is not ClickHouse over HTTP (it answered with status ${status})`,
    detail,
  )
}

/** For a request without an answer. */
export function connectionFailure(address: EngineAddress, error: unknown): EngineError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EngineError) return cause
    if (!(cause instanceof EgressError)) continue
    const { reason } = describeFailure(cause, address)
    return cause.failure === 'denied' ? new EngineAccessError(reason) : new EngineError('passing', reason)
  }
  return new EngineError('passing', `the connection with the engine at ${addressText(address)} broke off`)
}

/** ClickHouse's error code, from the header or the text; 0 when there is no code. */
export function errorCodeOf(header: string | undefined, text: string): number {
  // Library exceptions have their name before the number.
  const [, digits] = /^\s*(?:(?:std|Poco)::exception\. )?(?:Code: )?(\d{1,6})\s*(?:$|[.,])/i.exec(header || text) ?? []
  return Number(digits ?? 0)
}

const lateException = /(?:^|\n)(?:__exception__\r?\n|Code: \d+[.,] (?:e\.displayText\(\) = )?DB::Exception: )/

/** The exception that ClickHouse wrote at the end of an answer it had already begun. */
export function findLateException(answer: string): string | undefined {
  const at = answer.search(lateException)
  return at === -1 ? undefined : answer.slice(Math.max(at, answer.indexOf('Code: ', at)))
}
