// Help of `penstock call`, generated from the operations and their shapes.

import { fieldPath, isNullRule, literals, type Rules } from '../lib/shape-rules.ts'
import { type AnyOperation, isPaged, takesIfMatch } from '../operation/operation.ts'
import { aligned } from './call-output.ts'

type Described = Rules & { description?: string; default?: unknown }

export interface Parameter {
  name: string
  required: boolean
  shape: Described
}

const indentation = '  '
const widest = 120
const narrowest = 40

/** Path and query parameters, which become options. */
export function parametersOf({ params, query }: AnyOperation): Parameter[] {
  return [params, query].flatMap((shape) =>
    Object.entries<Described>(shape?.properties ?? {}).map(([name, field]) => ({
      name,
      required: shape.required.includes(name),
      shape: field,
    })),
  )
}

/** `organizationId` → `organization-id`, `from_date` → `from-date` */
export function optionName(parameter: string): string {
  return parameter.replaceAll(/_|(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()
}

export function operationList(operations: AnyOperation[]): string {
  const idWidth = Math.max(...operations.map(({ id }) => id.length))
  const groups = [...Map.groupBy(operations, ({ tag }) => tag)].map(([tag, offered]) => {
    const lines = offered.map(({ id, summary, stability }) => {
      return `${indentation}${id.padEnd(idWidth)}  ${summary}${stability ? ` (${stability})` : ''}\n`
    })
    return `${tag}\n${lines.join('')}`
  })
  return `Usage: penstock call <operation> [options]\n\n${groups.join('\n')}\n"penstock call <operation> --help" explains one.\n`
}

export function operationHelp(operation: AnyOperation, terminalWidth: number): string {
  const width = Math.max(narrowest, Math.min(terminalWidth, widest))
  const { id, method, path, summary, description, access, stability, body, result } = operation
  const isWrite = method !== 'GET'
  const parts = [
    `${id}: ${summary}${stability ? ` (${stability})` : ''}`,
    `${method} ${path}`,
    isWrite && access === 'admin' ? 'Needs a key with the role admin.' : '',
    '',
    ...description.split('\n').map((line) => wrap(line, width, '')),
    '',
    'Options',
    section(optionLines(operation), width),
  ]
  if (body) parts.push('', 'Body', section(fieldLines(body, '', []), width))
  if (body) parts.push('', `Example: ${operation.example.summary}`, exampleCall(operation))
  if (!isNullRule(result)) {
    const shown =
      typeof operation.example.result === 'string'
        ? operation.example.result
        : JSON.stringify(operation.example.result, null, 2)
    parts.push('', 'Answers', shown.replaceAll(/^/gm, indentation))
  }
  return `${parts.filter((part, index) => part !== '' || parts[index - 1] !== '').join('\n')}\n`
}

interface HelpLine {
  name: string
  rules: string
  text: string
}

function optionLines(operation: AnyOperation): HelpLine[] {
  const lines = parametersOf(operation).map(({ name, required, shape }) => {
    const need = name === 'organizationId' ? 'required; default: that of the credentials' : required && 'required'
    return {
      name: `--${optionName(name)}`,
      rules: list([shape.type === 'boolean' ? '' : typeText(shape), need, ...bounds(shape)]),
      text: shape.description ?? '',
    }
  })
  const more: [boolean, string, string, string][] = [
    [operation.body !== undefined, '--body', 'required', "The body: '{json}', @file, or - for standard input."],
    [
      takesIfMatch(operation),
      '--if-match',
      'ETag',
      'The ETag that was read: change only if nobody else has changed it since.',
    ],
    [
      operation.method !== 'GET',
      '--idempotency-key',
      'string, 1 to 255 characters',
      'The same request with the same key is applied once within 24 hours. Default: generated.',
    ],
    [isPaged(operation), '--all', '', 'All pages.'],
    [!operation.textType, '--json', '', 'The answer as it came: {requestId, result, status}.'],
  ]
  return [...lines, ...more.filter(([has]) => has).map(([, name, rules, text]) => ({ name, rules, text }))]
}

/** One line per field; names of nested fields contain dots. */
function fieldLines(shape: Described, path: string, notes: string[]): HelpLine[] {
  if (shape.anyOf) {
    const branches = shape.anyOf.filter((branch) => !isNullRule(branch))
    const isNullable = branches.length < shape.anyOf.length
    return branches.flatMap((branch, index) => {
      const which = branches.length > 1 ? [`form ${index + 1} of ${branches.length}`] : []
      const orNull = isNullable ? ['may be null'] : []
      return fieldLines({ ...branch, ...descriptionOf(shape) }, path, [...orNull, ...notes, ...which])
    })
  }
  const own: HelpLine = {
    name: path,
    rules: list([typeText(shape), ...notes, ...bounds(shape)]),
    text: shape.description ?? '',
  }
  const inside = [
    ...Object.entries<Described>(shape.properties ?? {}).flatMap(([name, field]) =>
      fieldLines(field, fieldPath(path, name), shape.required?.includes(name) ? ['required'] : []),
    ),
    ...(shape.items && isStructured(shape.items) ? fieldLines(shape.items, `${path}[]`, []).slice(1) : []),
    ...(typeof shape.additionalProperties === 'object' ? fieldLines(shape.additionalProperties, `${path}.*`, []) : []),
  ]
  return path === '' ? inside : [own, ...inside]
}

function descriptionOf({ description }: Described): { description?: string } {
  return description === undefined ? {} : { description }
}

function isStructured(shape: Rules): boolean {
  return shape.properties !== undefined || shape.anyOf !== undefined
}

function typeText(shape: Described): string {
  const values = literals(shape)
  if (values) return values.join(' | ')
  if (shape.anyOf) return [...new Set(shape.anyOf.map(typeText))].join(' or ')
  if (shape.type === 'array') return `list of ${shape.items ? typeText(shape.items) : 'anything'}`
  return shape.format ?? shape.type ?? 'anything'
}

function bounds(shape: Described): (string | false)[] {
  return [
    between(shape.minimum, shape.maximum, ''),
    between(shape.minLength, shape.maxLength, ' characters'),
    between(shape.minItems, shape.maxItems, ' items'),
    shape.uniqueItems === true && 'no repeats',
    shape.patternHint ?? '',
    shape.default !== undefined && `default ${JSON.stringify(shape.default)}`,
    isNeverShown(shape) && 'secret, never shown',
  ]
}

function isNeverShown({ writeOnly, anyOf = [] }: Rules): boolean {
  return writeOnly === true || anyOf.some(isNeverShown)
}

function between(from: number | undefined, to: number | undefined, unit: string): string {
  if (from === undefined && to === undefined) return ''
  if (to === undefined) return `at least ${from}${unit}`
  return from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`
}

function list(parts: (string | false)[]): string {
  return parts.filter((part) => part !== '' && part !== false).join(', ')
}

function section(lines: HelpLine[], width: number): string {
  const nameWidth = Math.min(44, Math.max(...lines.map(({ name }) => name.length)))
  const below = indentation.repeat(2)
  return lines
    .map(({ name, rules, text }) => {
      const first = aligned([indentation + name, rules], [indentation.length + nameWidth, 0])
      return [wrap(first, width, ' '.repeat(nameWidth + 4)), ...(text ? [wrap(below + text, width, below)] : [])].join(
        '\n',
      )
    })
    .join('\n')
}

/** Breaks a line between words; the lines after the first are indented. */
function wrap(line: string, width: number, indent: string): string {
  const lines: string[] = []
  let rest = line
  while (rest.length > width) {
    const from = lines.length > 0 ? indent.length : rest.search(/\S/)
    const space = rest.lastIndexOf(' ', width)
    const at = space > from ? space : rest.indexOf(' ', width)
    if (at < 0) break
    lines.push(rest.slice(0, at))
    rest = indent + rest.slice(at + 1)
  }
  return [...lines, rest].join('\n')
}

function exampleCall(operation: AnyOperation): string {
  const required = parametersOf(operation).filter(({ name, required }) => required && name !== 'organizationId')
  const options = required.map(({ name }) => ` --${optionName(name)} …`)
  const body = JSON.stringify(operation.example.body).replaceAll("'", `'\\''`)
  return `${indentation}penstock call ${operation.id}${options.join('')} --body '${body}'`
}
