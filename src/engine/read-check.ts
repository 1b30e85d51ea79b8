// Finds the rejected rows of a body with two statements per part, however many they are. Rows are numbered; ClickHouse reads them and
// skips invalid ones. The missing numbers, and those that violate a constraint, are the rejected rows.
import { EngineError, type Insert, type ReadCheck, type RejectedNumber } from './engine.ts'
import { AnswerTooLong } from './exchange.ts'
import { comesInPieces, known } from './insert-settings.ts'
import { asNullable, definitionsOf, listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, type TableRef } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { makeStagingTable } from './staged-insert.ts'
import { stagedType } from './staging-text.ts'
import { type Constraint, loadConstraints } from './table-constraints.ts'

const skipErrors = { input_format_allow_errors_num: 1_000_000_000, input_format_allow_errors_ratio: 1 }

export async function openReadCheck(
  parts: SinkParts,
  insert: Omit<Insert, 'body'>,
  numberField: string,
  signal: AbortSignal,
): Promise<ReadCheck | undefined> {
  const { client, capabilities } = parts
  const canSkip = Object.keys(skipErrors).every((name) => capabilities.hasSetting(name))
  if (!canSkip || comesInPieces(insert.format)) return undefined
  const more = known(capabilities.hasSetting, skipErrors)
  const opened = await unlessRejected(async () => {
    const text = capabilities.canInput
      ? await byInput(parts, insert, numberField, signal)
      : byTable(insert, numberField)
    const options = { token: insert.token, purpose: 'numbers' as const, create: text.create }
    return { text, staging: await makeStagingTable(parts, options, signal) }
  })
  if (!opened) return undefined
  const { text, staging } = opened
  return {
    listRejected: (body, range) =>
      unlessRejected(async () => {
        const { writtenRows } = await sendRows(
          parts,
          text.fill(staging, range),
          { insert: { ...insert, body: () => [body] }, more },
          signal,
        )
        if (text.isComplete && writtenRows === range.count) return []
        const answer = await client.query(`${text.list(staging, range)} FORMAT TabSeparated`, { signal })
        return rejectedIn(answer, text.constraints)
      }),
    close: () => parts.drop(staging),
  }
}

function rejectedIn(answer: string, constraints: Constraint[]): RejectedNumber[] {
  const lines = answer.split('\n').slice(0, -1)
  return lines.map((line) => {
    const [number, violated] = line.split('\t').map(Number)
    const constraint = constraints[violated! - 1]
    return { number: number!, ...(constraint && { constraint }) }
  })
}

/** Undefined when the failure is not about single rows. */
async function unlessRejected<Result>(ask: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await ask()
  } catch (error) {
    const isRejected = error instanceof EngineError && (error.kind !== 'passing' || error instanceof AnswerTooLong)
    if (isRejected) return undefined
    throw error
  }
}

interface NumberRange {
  first: number
  count: number
}

interface Texts {
  create(name: string): string
  fill(staging: TableRef, range: NumberRange): string
  /** Rejected numbers, each with the 1-based index of the violated constraint, or with 0. */
  list(staging: TableRef, range: NumberRange): string
  constraints: Constraint[]
  /** Whether no row is rejected when all rows were written. */
  isComplete: boolean
}

/** Reads all fields as the insert does; `ignore` makes ClickHouse parse fields that are not stored. */
async function byInput(
  { client, table, types }: SinkParts,
  { format, fields, columns }: Omit<Insert, 'body'>,
  numberField: string,
  signal: AbortSignal,
): Promise<Texts> {
  const typeOf = new Map(columns.map(({ column, field }) => [field, types.get(column)]))
  const read = fields.map(({ name, type }) => asNullable({ name, type: typeOf.get(name) ?? type }))
  const others = fields.flatMap(({ name }) => (name === numberField ? [] : [quoteName(name)]))
  const number = quoteName(numberField)
  const { constraints, definitions } = await loadConstraints(client, table, signal)
  const kept = constraints.length === 0 ? [] : columns
  const definition = [`${number} UInt32`, ...(constraints.length === 0 ? [] : definitions)].join(', ')
  const into = listOf([numberField, ...kept.map(({ column }) => column)])
  const selected = listOf([numberField, ...kept.map(({ field }) => field)])
  const isViolated = constraints.map(({ expression }) => `ifNull((${expression}), 0) = 0`)
  // A name that no column has.
  const violated = quoteName(`${numberField}_violated`)
  const firstViolated = `multiIf(${isViolated.map((condition, at) => `${condition}, ${at + 1}`).join(', ')}, 0)`
  return {
    constraints,
    isComplete: constraints.length === 0,
    create: (name) => `CREATE TABLE ${name} (${definition}) ENGINE = Memory`,
    fill: (staging, { first, count }) =>
      `INSERT INTO ${fullName(staging)} (${into}) SELECT ${selected} FROM input(${quoteText(definitionsOf(read))}) ` +
      `WHERE ignore(${others.join(', ')}) = 0 AND ${number} < ${first + count} FORMAT ${format}`,
    list(staging, range) {
      const missing = missingText(staging, number, range)
      if (constraints.length === 0) return missing
      return (
        `${missing} UNION ALL SELECT ${number}, toUInt8(${firstViolated}) AS ${violated} FROM ${fullName(staging)} ` +
        `WHERE ${within(number, range)} AND ${violated} > 0`
      )
    },
  }
}

function byTable({ format, fields }: Omit<Insert, 'body'>, numberField: string): Texts {
  const read = fields.map((field) =>
    field.name === numberField ? field : { name: field.name, type: stagedType(format, field) },
  )
  return {
    constraints: [],
    isComplete: false,
    create: (name) => `CREATE TABLE ${name} (${definitionsOf(read)}) ENGINE = Memory`,
    fill: (staging) => `INSERT INTO ${fullName(staging)} (${listOf(read.map(({ name }) => name))}) FORMAT ${format}`,
    list: (staging, range) => missingText(staging, quoteName(numberField), range),
  }
}

function missingText(staging: TableRef, number: string, range: NumberRange): string {
  const all = `SELECT toUInt32(${range.first} + arrayJoin(range(${range.count}))) AS number`
  const there = `SELECT ${number} FROM ${fullName(staging)} WHERE ${within(number, range)}`
  return `SELECT number, toUInt8(0) FROM (${all}) WHERE number NOT IN (${there})`
}

function within(number: string, { first, count }: NumberRange): string {
  return `${number} >= ${first} AND ${number} < ${first + count}`
}
