// `penstock call <operation>`: calls API operations from the terminal, derived from the list of operations.
import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { Command, CommanderError, Option } from 'commander'
import { PenstockError } from '../client/error.ts'
import {
  basicAuthorization,
  envelopeOf,
  errorOf,
  isSuccess,
  nextCursorOf,
  type Received,
  Transport,
  warningOf,
} from '../client/transport.ts'
import { Problem } from '../lib/problem.ts'
import { nearest } from '../lib/shape.ts'
import { parseStrictJson } from '../lib/strict-json.ts'
import { type AnyOperation, isPaged, takesIfMatch } from '../operation/operation.ts'
import { operations } from '../operations.ts'
import { operationHelp, operationList, optionName, parametersOf } from './call-help.ts'
import { formatResult, printable } from './call-output.ts'
import { readCredentials } from './credentials.ts'
import { explainKey, orFail, usageFailure } from './failure.ts'

interface Options {
  [parameter: string]: string | boolean | undefined
  help?: boolean
  json?: boolean
  all?: boolean
  body?: string
  ifMatch?: string
  idempotencyKey?: string
}

const widthWithoutTerminal = 120

export async function call(args: string[]): Promise<void> {
  await orFail(async () => {
    const [name, ...rest] = args
    const width = process.stdout.columns ?? widthWithoutTerminal
    if (name === undefined || name === '--help' || name === '-h') {
      process.stdout.write(operationList(operations))
      return
    }
    const operation = findOperation(name)
    const options = parseOptions(operation, rest)
    if (options.help) process.stdout.write(operationHelp(operation, width))
    else await callOperation(operation, options, width)
  })
}

async function callOperation(operation: AnyOperation, options: Options, width: number): Promise<void> {
  const missing = parametersOf(operation)
    .filter(({ name, required }) => required && name !== 'organizationId' && options[name] === undefined)
    .map(({ name }) => optionName(name))
  if (operation.body && options.body === undefined) missing.push('body')
  refuseMissing(operation, missing)
  const body = options.body === undefined ? undefined : await readBody(options.body)
  const { organizationId, keyOrigin, ...connection } = readCredentials()
  const params: Record<string, string> = {}
  for (const { name } of parametersOf(operation)) {
    const value = options[name] ?? (name === 'organizationId' ? organizationId : undefined)
    if (value !== undefined) params[name] = String(value)
    else if (name === 'organizationId') refuseMissing(operation, ['organization-id'])
  }

  const transport = new Transport({ ...connection, userAgent: 'penstock-cli' }, basicAuthorization(connection))
  const { method, path } = operation
  const send = async (cursor?: string): Promise<Received> => {
    const received = await transport.send({
      method,
      path,
      params: cursor === undefined ? params : { ...params, cursor },
      body,
      ifMatch: quoted(options.ifMatch),
      idempotencyKey: options.idempotencyKey,
    })
    const warning = warningOf(received)
    if (warning) console.error(`Warning: ${printable(warning)}`)
    if (isSuccess(received)) return received
    const error = errorOf(received)
    // With --json, scripts get the code and the fields of the problem.
    if (options.json && error.code !== 'invalid_answer') printJson(received.text)
    throw explainKey(error, keyOrigin)
  }

  const received = await send()
  if (operation.textType) {
    process.stdout.write(received.text)
    return
  }
  const envelope = envelopeOf(received)
  let next = nextCursorOf(received)
  if (isPaged(operation) && !Array.isArray(envelope.result)) throw notAList(received)
  while (options.all && next !== undefined) {
    const page = await send(next)
    const { result } = envelopeOf(page)
    if (!Array.isArray(result)) throw notAList(page)
    ;(envelope.result as unknown[]).push(...result)
    next = nextCursorOf(page)
  }

  if (options.json) printJson(options.all ? JSON.stringify(envelope) : received.text)
  else {
    process.stdout.write(formatResult(operation.result, envelope.result, width))
    const etag = operation.versioned && received.headers.get('etag')
    if (etag) process.stdout.write(`\nETag ${printable(etag)} (for --if-match)\n`)
    if (Array.isArray(envelope.result) && envelope.result.length === 0) console.error('The list is empty.')
  }
  if (next !== undefined) console.error(`There is more: add --all, or --cursor ${printable(next)}`)
}

function findOperation(name: string): AnyOperation {
  const operation = operations.find(({ id }) => id === name)
  if (operation) return operation
  const ids = operations.map(({ id }) => id)
  const meant = nearest(name, ids)
  const hint = meant ? `did you mean ${meant}?` : '"penstock call" lists them.'
  throw usageFailure(`There is no operation ${JSON.stringify(name)}; ${hint}`)
}

function parseOptions(operation: AnyOperation, args: string[]): Options {
  const command = new Command(operation.id)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .helpOption(false)
    .option('-h, --help')
    .option('--json')
  const nameOf = new Map<string, string>()
  for (const { name, shape } of parametersOf(operation)) {
    const option = new Option(`--${optionName(name)} ${shape.type === 'boolean' ? '[boolean]' : '<value>'}`)
    nameOf.set(option.attributeName(), name)
    command.addOption(option)
  }
  if (operation.body) command.option('--body <json>')
  if (isPaged(operation)) command.option('--all')
  if (takesIfMatch(operation)) command.option('--if-match <etag>')
  if (operation.method !== 'GET') command.option('--idempotency-key <key>')
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const sentence = error.message
      .replace(/^error: /, '')
      .split('\n')
      .map((line) => line.trim())
      .join(' ')
    throw usageFailure(`${printable(sentence)}; see "penstock call ${operation.id} --help"`)
  }
  return Object.fromEntries(Object.entries(command.opts()).map(([name, value]) => [nameOf.get(name) ?? name, value]))
}

function refuseMissing(operation: AnyOperation, options: string[]): void {
  if (options.length === 0) return
  const names = options.map((name) => `--${name}`).join(', ')
  const hint = options.includes('organization-id') ? 'set PENSTOCK_ORGANIZATION_ID, run "penstock login", or ' : ''
  throw usageFailure(
    `${names} ${options.length === 1 ? 'is' : 'are'} missing; ${hint}see "penstock call ${operation.id} --help"`,
  )
}

/** Returns the body text unchanged, after checking that it is valid JSON. */
async function readBody(given: string): Promise<string> {
  const { text, origin } = await bodyText(given)
  try {
    parseStrictJson(text)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw usageFailure(`--body${origin}: ${printable(error.message)}`)
  }
  return text
}

async function bodyText(given: string): Promise<{ text: string; origin: string }> {
  if (given === '-') return { text: await readAll(process.stdin), origin: ' from standard input' }
  if (!given.startsWith('@')) return { text: given, origin: '' }
  const file = given.slice(1)
  try {
    return { text: readFileSync(file, 'utf8'), origin: ` in ${file}` }
  } catch (error) {
    throw usageFailure(`--body: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** Adds the quotes of an ETag that the shell has removed. */
function quoted(etag: string | undefined): string | undefined {
  return etag === undefined || etag === '*' || etag.includes('"') ? etag : `"${etag}"`
}

function printJson(text: string): void {
  process.stdout.write(process.stdout.isTTY ? `${JSON.stringify(JSON.parse(text), null, 2)}\n` : `${text}\n`)
}

function notAList({ status }: Received): PenstockError {
  return new PenstockError('the answer is not a list; is the URL that of a Penstock?', {
    status,
    code: 'invalid_answer',
  })
}
