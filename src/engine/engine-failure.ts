// What an error of the engine means: whether the rows are to blame, whether it passes, or whether only the user can help. The
// sentences are ours; what the engine says stays in `detail`, which goes nowhere but into the engine.
import { EgressError } from '../lib/egress.ts'
import { describeFailure, type EngineAddress, placeOf } from './check.ts'
import { EngineError, NoEntryError } from './engine.ts'
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

/** Cannot write, read, open or make a file or folder. */
const codesOfFiles = [74, 75, 76, 481]
const unwritableFolder: Meaning =
  'may not write to its own data folder; give the user that the engine runs as the right to write there'

const refusedRows: Meaning = 'does not take some of the rows'

export interface EngineFailureParts {
  /** 0 when none is known. */
  code: number
  status: number
  /** What the engine says. */
  text: string
  /** Whether rows were sent with the statement: then an error that is not known here is theirs. */
  hasRows: boolean
}

/** For an answer that is an error, or no answer of an engine at all. */
export function engineFailure(address: EngineAddress, parts: EngineFailureParts): EngineError {
  const { code, status, text, hasRows } = parts
  const detail = text.trim().slice(0, maxDetailLength)
  const place = placeOf(address)
  const failed = (kind: EngineError['kind'], meaning: Meaning): EngineError => {
    const sentence = `the engine at ${place} ${meaning}${code > 0 ? ` (its error ${code})` : ''}`
    return meaning === refusedSignIn
      ? new NoEntryError(sentence, detail, code)
      : new EngineError(kind, sentence, detail, code)
  }
  const hasManyPartitions = code === 565 || (code === 252 && /partitions for single INSERT block/i.test(text))
  if (hasManyPartitions) return failed('user', manyPartitions)
  const isOfFile = code >= 1000 || codesOfFiles.includes(code)
  if (isOfFile && /permission denied|read-only file system|access to file denied/i.test(text)) {
    return failed('user', unwritableFolder)
  }
  // Of the ones above a thousand, none is about rows: they are those of libraries and of the system.
  if (passingCodes.has(code) || code >= 1000) return failed('passing', passingCodes.get(code) ?? brokenOff)
  const usersMeaning = hasRows && codesOfRows.includes(code) ? undefined : userCodes.get(code)
  if (usersMeaning !== undefined) return failed('user', usersMeaning)
  if (code > 0) return hasRows ? failed('data', refusedRows) : failed('user', refusedStatement)
  if (status === 401 || status === 403) return failed('user', refusedSignIn)
  // Between us and the engine stand proxies, which say so while it restarts.
  return new EngineError(
    'passing',
    `what answers at ${place} is not ClickHouse over HTTP (it answered with status ${status})`,
    detail,
  )
}

/** For a request that got no answer. */
export function connectionFailure(address: EngineAddress, error: unknown): EngineError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EngineError) return cause
    if (!(cause instanceof EgressError)) continue
    const { reason } = describeFailure(cause, address)
    return cause.failure === 'denied' ? new NoEntryError(reason) : new EngineError('passing', reason)
  }
  return new EngineError('passing', `the connection with the engine at ${placeOf(address)} broke off`)
}

/** The number that the engine gives its error, from its header or from its text; 0 when there is none. */
export function errorCodeOf(header: string | undefined, text: string): number {
  // What libraries throw has their name before the number.
  const [, digits] = /^\s*(?:(?:std|Poco)::exception\. )?(?:Code: )?(\d{1,6})\s*(?:$|[.,])/i.exec(header || text) ?? []
  return Number(digits ?? 0)
}

const lateException = /(?:^|\n)(?:__exception__\r?\n|Code: \d+[.,] (?:e\.displayText\(\) = )?DB::Exception: )/

/** The error that an engine wrote into an answer that had begun well. */
export function findLateException(answer: string): string | undefined {
  const at = answer.search(lateException)
  return at === -1 ? undefined : answer.slice(Math.max(at, answer.indexOf('Code: ', at)))
}
