// ClickHouse exceptions as its HTTP interface answers them.

/** Statuses of ClickHouse's HTTP interface, by the name of the exception; 500 for all others. */
const namesByStatus = {
  401: 'REQUIRED_PASSWORD',
  403: 'UNKNOWN_USER WRONG_PASSWORD AUTHENTICATION_FAILED ACCESS_DENIED',
  400:
    'BAD_ARGUMENTS CANNOT_PARSE_TEXT CANNOT_PARSE_ESCAPE_SEQUENCE CANNOT_PARSE_QUOTED_STRING CANNOT_PARSE_DATE ' +
    'CANNOT_PARSE_DATETIME CANNOT_PARSE_NUMBER CANNOT_PARSE_INPUT_ASSERTION_FAILED CANNOT_PARSE_UUID CANNOT_PARSE_IPV4 ' +
    'CANNOT_PARSE_IPV6 DUPLICATE_COLUMN ILLEGAL_COLUMN THERE_IS_NO_COLUMN SYNTAX_ERROR INCORRECT_DATA TYPE_MISMATCH ' +
    'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
  404:
    'UNKNOWN_TABLE UNKNOWN_FUNCTION UNKNOWN_IDENTIFIER UNKNOWN_TYPE UNKNOWN_STORAGE UNKNOWN_DATABASE UNKNOWN_SETTING ' +
    'UNKNOWN_FORMAT UNKNOWN_AGGREGATE_FUNCTION UNKNOWN_DATABASE_ENGINE UNKNOWN_ROLE',
  408: 'TIMEOUT_EXCEEDED',
  413: 'QUERY_IS_TOO_LARGE',
  501: 'NOT_IMPLEMENTED',
  503: 'SOCKET_TIMEOUT CANNOT_OPEN_FILE CANNOT_SCHEDULE_TASK',
}

const statusByName = new Map(
  Object.entries(namesByStatus).flatMap(([status, names]) => names.split(' ').map((name) => [name, Number(status)])),
)

export class EngineException extends Error {
  constructor(code: number, name: string, text: string) {
    super(`Code: ${code}. DB::Exception: ${text} (${name})`)
  }
}

export interface ExceptionAnswer {
  status: number
  code: string
  text: string
}

/** Code of exceptions that are not ClickHouse's own. */
const standardExceptionCode = '1001'

export function answerOfException(message: string, version: string): ExceptionAnswer {
  const name =
    message
      .match(/\([A-Z][A-Z_0-9]+\)/g)
      ?.at(-1)
      ?.slice(1, -1) ?? ''
  const code = /Code: (\d+)\. /.exec(message)?.[1] ?? standardExceptionCode
  const text = `${withoutFile(message)} (version ${version} (official build))\n`
  return { status: statusByName.get(name) ?? 500, code, text }
}

/** Removes the file name, which the client does not know, and parts that the library repeats. */
function withoutFile(message: string): string {
  return message
    .replace(/^(Code: \d+\. DB::Exception: )\1/, '$1')
    .replaceAll(
      / \(version [^)]*\)?|: \(in file\/uri [^)]*\)?|: While executing File: data for INSERT was parsed from file/g,
      '',
    )
    .replace(/(\([A-Z_0-9]+\))\. \1$/, '$1')
}
