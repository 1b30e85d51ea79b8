// What an error of the engine means: whether the rows are to blame, whether it passes, or whether only the user can help. The
// sentences are ours; what the engine says stays in `detail`, which goes nowhere but into the engine.
import { EgressError } from '../lib/egress.ts'
import { describeFailure, type EngineAddress, placeOf } from './check.ts'
import { EngineError } from './engine.ts'

const maxDetailLength = 2_000

/** Completes "the engine at host:port …". */
type Meaning = string

/** Where rows are sent, it is rows that these are about. */
const codesOfRows = [36, 48]

const refusedSignIn: Meaning = 'refused the user name or the password; check the credentials of the service'
const missingRight: Meaning =
  'does not let its user do this; grant the user the right to create, alter, select from and insert into the table'
const noTable: Meaning = 'has no such table; create it, or let Penstock manage it'
const noDatabase: Meaning = 'has no such database; create it'
const noColumn: Meaning =
  'does not find a column that the pipe names; compare the columns of the pipe with those of the table'
const notUnderstood: Meaning =
  'does not understand what the pipe asks for; check the types, the keys and the engine of the table against its version'
const notAllowed: Meaning = 'does not allow what the pipe needs; check its settings and the profile of the user'

/** Only the user can help. */
const userCodes = new Map<number, Meaning>([
  ...meaning(refusedSignIn, '192 193 194 195 516 720 763 767'),
  ...meaning(missingRight, '164 291 497 511 512 774'),
  ...meaning(noTable, '60 218'),
  ...meaning(noDatabase, '81'),
  ...meaning(noColumn, '8 10 16 20 47 352'),
  ...meaning(
    notUnderstood,
    '15 34 35 36 37 42 43 44 46 48 50 51 52 55 56 57 62 63 73 78 80 85 119 122 170 370 377 378 386 432 446 450 455 477 524 549',
  ),
  ...meaning(notAllowed, '115 158 161 165 166 167 168 229 290 307 344 392 396 401 452 471 472 620 724 725 759 764'),
])

const busy: Meaning = 'is too busy'
const noMemory: Meaning = 'has too little memory for this at the moment'
const noSpace: Meaning = 'has no space left on its disk'
const tooManyParts: Meaning = 'has too many parts in the table and waits for its merges'
const readOnlyTable: Meaning = 'has made the table read-only for now'
const noReplicas: Meaning = 'does not reach its other replicas or its keeper'
const brokenOff: Meaning = 'broke off what it was doing'

/** Try again later. */
const passingCodes = new Map<number, Meaning>([
  ...meaning(busy, '159 160 201 202 203 364 373 384 439 473 517 574 692 700 718 738 745 749 762 776'),
  ...meaning(noMemory, '173 241 777 778'),
  ...meaning(noSpace, '243'),
  ...meaning(tooManyParts, '252'),
  ...meaning(readOnlyTable, '242'),
  ...meaning(
    noReplicas,
    '95 96 198 209 210 225 244 254 255 265 279 285 286 289 297 319 369 410 415 416 519 529 568 571 659 904 999',
  ),
  ...meaning(
    brokenOff,
    '23 24 74 75 76 77 87 88 107 172 204 216 236 272 273 274 275 294 341 354 394 411 425 499 500 586 649 660 667 668 677 693 695 696 707 710 722 733 734 735 780 900 901 903 905',
  ),
])

function meaning(sentence: Meaning, codes: string): [number, Meaning][] {
  return codes.split(' ').map((code) => [Number(code), sentence])
}

const manyPartitions: Meaning =
  'refuses an insert into so many partitions; partition the table by fewer, larger ones, or raise max_partitions_per_insert_block for the user'

const refusedRows: Meaning = 'does not take some of the rows'
const refusedStatement: Meaning = 'refused the statement; check the table and the rights of the user'

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
  const failed = (kind: EngineError['kind'], sentence: Meaning): EngineError =>
    new EngineError(kind, `the engine at ${place} ${sentence}${code > 0 ? ` (its error ${code})` : ''}`, detail)
  const hasManyPartitions = code === 565 || (code === 252 && /partitions for single INSERT block/i.test(text))
  if (hasManyPartitions) return failed('user', manyPartitions)
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
    return new EngineError(cause.failure === 'denied' ? 'user' : 'passing', reason)
  }
  return new EngineError('passing', `the connection with the engine at ${placeOf(address)} broke off`)
}

/** The number that the engine gives its error, from its header or from its text; 0 when there is none. */
export function errorCodeOf(header: string | undefined, text: string): number {
  const [, digits] = /^\s*(?:Code: )?(\d{1,6})\s*(?:$|[.,])/.exec(header || text) ?? []
  return Number(digits ?? 0)
}

const lateException =
  /(?:^|\n)(?:__exception__\r?\n[\s\S]*|Code: \d+[.,] (?:e\.displayText\(\) = )?DB::Exception: [\s\S]*)$/

/** The error that an engine wrote into an answer that had begun well. */
export function findLateException(answer: string): string | undefined {
  const found = lateException.exec(answer)?.[0]
  return found === undefined ? undefined : found.slice(Math.max(0, found.indexOf('Code: ')))
}
