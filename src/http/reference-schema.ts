// JSON Schemas of the reference as tables of fields, with a generated example where the document has none.
import { type Content, type Html, html, markdown } from './reference-html.ts'

/** The subset of JSON Schema in use. */
export interface Schema {
  $ref?: string
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  allOf?: readonly Schema[]
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  /** Our own keyword: the pattern in words. */
  patternHint?: string
  format?: string
  items?: Schema
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  description?: string
  default?: unknown
  examples?: readonly unknown[]
  writeOnly?: boolean
  readOnly?: boolean
  deprecated?: boolean
}

export interface Ref {
  $ref: string
}

export interface MediaType {
  schema?: Schema
  example?: unknown
  examples?: Readonly<Record<string, { summary?: string; description?: string; value?: unknown } | Ref>>
}

export interface Header {
  description?: string
  required?: boolean
  schema?: Schema
}

export interface Parameter extends Header {
  name: string
  in: string
  example?: unknown
}

export interface Response {
  description?: string
  headers?: Readonly<Record<string, Header | Ref>>
  content?: Readonly<Record<string, MediaType>>
}

export interface OpenApiOperation {
  operationId?: string
  summary?: string
  description?: string
  tags?: readonly string[]
  parameters?: readonly (Parameter | Ref)[]
  requestBody?: { description?: string; required?: boolean; content: Readonly<Record<string, MediaType>> } | Ref
  responses?: Readonly<Record<string, Response | Ref>>
  security?: readonly Readonly<Record<string, readonly string[]>>[]
  deprecated?: boolean
  'x-stability'?: string
}

/** The subset of OpenAPI 3.1 in use. */
export interface OpenApiDocument {
  info: { title: string; version: string; description?: string }
  servers?: readonly { url: string; description?: string }[]
  tags?: readonly { name: string; description?: string }[]
  paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  components?: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** A schema with references and wrappers resolved; `variants` are the alternatives of an anyOf, without null. */
interface Shape extends Schema {
  nullable: boolean
  variants: readonly Schema[]
}

type Use = 'request' | 'response'

/** Deeper than any of our schemas; stops at one that contains itself. */
const maxDepth = 8

/** Follows `#/…` references. Siblings of a `$ref` win, as in OpenAPI 3.1. A broken reference resolves to an empty object. */
export function resolve<T extends object>(document: object, node: T | { $ref: string }): T {
  let current: object = node
  for (let hops = 0; hops < maxDepth && '$ref' in current && typeof current.$ref === 'string'; hops += 1) {
    const { $ref, ...beside } = current as { $ref: string }
    let target: unknown = document
    for (const step of $ref.replace(/^#\/?/, '').split('/')) {
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      target = typeof target === 'object' && target !== null && Object.hasOwn(target, key) && Reflect.get(target, key)
    }
    current = { ...(typeof target === 'object' && target), ...beside }
  }
  return current as T
}

function shapeOf(document: object, schema: Schema, depth = 0): Shape {
  const { anyOf, oneOf, allOf, ...own } = resolve(document, schema)
  let shape: Shape = { ...own, nullable: false, variants: [] }
  if (depth > maxDepth) return shape
  for (const part of allOf ?? []) {
    const { properties, required, ...rest } = shapeOf(document, part, depth + 1)
    shape = {
      ...rest,
      ...shape,
      properties: { ...properties, ...shape.properties },
      required: [...(required ?? []), ...(shape.required ?? [])],
    }
  }
  const choices = (anyOf ?? oneOf ?? []).map((choice) => resolve(document, choice))
  const rest = choices.filter((choice) => choice.type !== 'null' && choice.const !== null)
  if (rest.length < choices.length) shape.nullable = true
  if (rest.length === 1) {
    const only = shapeOf(document, rest[0]!, depth + 1)
    shape = { ...only, ...shape, nullable: shape.nullable || only.nullable, variants: only.variants }
  } else if (rest.length > 1 && rest.every((choice) => 'const' in choice)) {
    shape.enum = rest.map((choice) => choice.const)
    shape.type ??= rest[0]!.type ?? typeof rest[0]!.const
  } else shape.variants = rest
  if (Array.isArray(shape.type)) {
    shape.nullable ||= shape.type.includes('null')
    shape.type = shape.type.filter((name) => name !== 'null')
  }
  if (shape.enum?.includes(null)) {
    shape.nullable = true
    shape.enum = shape.enum.filter((value) => value !== null)
  }
  return shape
}

function typeName(document: object, shape: Shape): string {
  if (shape.variants.length > 0) {
    return [...new Set(shape.variants.map((variant) => typeName(document, shapeOf(document, variant))))].join(' or ')
  }
  if (shape.items) return `array of ${typeName(document, shapeOf(document, shape.items))}`
  if (typeof shape.additionalProperties === 'object') {
    return `map of ${typeName(document, shapeOf(document, shape.additionalProperties))}`
  }
  if (shape.type === undefined && shape.properties) return 'object'
  const first = 'const' in shape ? shape.const : shape.enum?.[0]
  return [shape.type ?? (first === undefined ? 'any' : typeof first)].flat().join(' or ')
}

function range(from: number | undefined, to: number | undefined, unit = ''): string | undefined {
  const least = from === 0 && unit !== '' ? undefined : from
  const units = unit && ((to ?? least) === 1 ? ` ${unit}` : ` ${unit}s`)
  if (least === undefined) return to === undefined ? undefined : `at most ${to}${units}`
  if (to === undefined) return `at least ${least}${units}`
  return least === to ? `exactly ${to}${units}` : `${least} to ${to}${units}`
}

const value = (it: unknown): Html => html`<code>${typeof it === 'string' && it !== '' ? it : JSON.stringify(it)}</code>`

/** Constraints of a value besides its type. */
function rules(document: object, shape: Shape): Content[] {
  const found: Content[] = [
    shape.format,
    range(shape.minimum, shape.maximum),
    shape.exclusiveMinimum !== undefined && `more than ${shape.exclusiveMinimum}`,
    shape.exclusiveMaximum !== undefined && `less than ${shape.exclusiveMaximum}`,
    range(shape.minLength, shape.maxLength, 'character'),
    range(shape.minItems, shape.maxItems, 'item'),
    shape.uniqueItems === true && 'no repeats',
    shape.patternHint,
    shape.pattern !== undefined && !shape.patternHint && html`matches <code class="pattern">${shape.pattern}</code>`,
    'const' in shape && html`always ${value(shape.const)}`,
  ].filter((rule) => rule !== undefined && rule !== false)
  if (!shape.items) return found
  return [...found, ...rules(document, shapeOf(document, shape.items)).map((rule) => ['each ', rule])]
}

function allowed(document: object, shape: Shape): Content {
  if (shape.items) return allowed(document, shapeOf(document, shape.items))
  return shape.enum && html`<span class="values">${shape.enum.map((it) => [value(it), ' '])}</span>`
}

export function typeCell(document: object, schema: Schema): Html {
  const shape = shapeOf(document, schema)
  const name = `${typeName(document, shape)}${shape.nullable ? ' or null' : ''}`
  return html`${name}${rules(document, shape).map((rule) => html`<span class="rule">, ${rule}</span>`)}${allowed(document, shape)}`
}

export function textCell(document: object, schema: Schema, description?: string): Html {
  const shape = shapeOf(document, schema)
  const example = shape.examples?.find((it) => typeof it !== 'object')
  const facts = [
    shape.default !== undefined && html`<span class="fact">Default ${value(shape.default)}</span>`,
    example !== undefined && !shape.enum && html`<span class="fact">Example ${value(example)}</span>`,
    shape.writeOnly === true && html`<span class="fact">Write only: never in a response</span>`,
    shape.readOnly === true && html`<span class="fact">Read only</span>`,
    shape.deprecated === true && html`<span class="fact">Deprecated</span>`,
  ]
  return html`${markdown(description ?? shape.description)}${facts}`
}

/** Long names may break between their words only. */
function breakable(name: string): Content[] {
  if (name.length < 20) return [name]
  return name.split(/(?<=_)|(?<=[a-z])(?=[A-Z])/).map((word, index) => [index > 0 && html`<wbr>`, word])
}

/** Marks fields that are required in a request, or may be absent in a response. */
export function row(name: string, use: Use, required: boolean, type: Html, text: Html): Html {
  const mark = use === 'request' ? required && 'required' : !required && 'may be absent'
  return html`<tr><th scope="row"><code class="name">${breakable(name)}</code>${
    mark && html` <span class="${required ? 'required' : 'count'}">${mark}</span>`
  }</th><td>${type}</td><td>${text}</td></tr>`
}

export function table(label: string, rows: Content): Html {
  return html`<table class="fields"><caption class="unseen">${label}</caption><thead><tr>${[
    'Name',
    'Type',
    'Description',
  ].map(
    (title) => html`<th scope="col"><span class="unseen">${title}</span></th>`,
  )}</tr></thead><tbody>${rows}</tbody></table>`
}

/** The fields of a request (without read-only ones) or a response (without write-only ones). */
function visible(document: object, shape: Shape, use: Use): [string, Schema][] {
  const hides = use === 'request' ? 'readOnly' : 'writeOnly'
  return Object.entries(shape.properties ?? {}).filter(([, field]) => shapeOf(document, field)[hides] !== true)
}

function nested(document: object, schema: Schema, use: Use, path: string, depth: number): Content {
  const shape = shapeOf(document, schema)
  if (depth > maxDepth) return undefined
  if (shape.items) return nested(document, shape.items, use, `${path}[]`, depth)
  if (shape.variants.length > 0) {
    return shape.variants.map((variant, index) =>
      nested(document, variant, use, `${path}, form ${index + 1} of ${shape.variants.length}`, depth),
    )
  }
  const count = visible(document, shape, use).length
  if (count === 0) return undefined
  const summary = html`<code>${path}</code> <span class="count">${count} ${count === 1 ? 'field' : 'fields'}</span>`
  return html`<tr class="nested"><td colspan="3"><details${depth < 2 && html` open`}><summary>${summary}</summary>${fields(
    document,
    schema,
    use,
    path,
    depth,
  )}</details></td></tr>`
}

/** The fields of an object with their nested fields. The first level is expanded, deeper ones collapsed. */
export function fields(document: object, schema: Schema, use: Use, path = '', depth = 0): Html {
  const shape = shapeOf(document, schema)
  if (shape.items) return fields(document, shape.items, use, `${path}[]`, depth)
  const rows = visible(document, shape, use).map(([name, field]) => [
    row(name, use, shape.required?.includes(name) === true, typeCell(document, field), textCell(document, field)),
    nested(document, field, use, path === '' ? name : `${path}.${name}`, depth + 1),
  ])
  return rows.length > 0
    ? table(path === '' ? 'Fields' : `Fields of ${path}`, rows)
    : html`<p>${typeCell(document, schema)}</p>`
}

const samples: Record<string, string> = {
  uuid: '7f9c2ba4-e88f-4a1b-9d3e-5c6b7a8f9012',
  'date-time': '2026-01-15T09:30:00.000Z',
  date: '2026-01-15',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  hostname: 'db.example.com',
}

/** A valid value. For a request only required fields (or the first field if none is required), otherwise all. */
export function sample(document: object, schema: Schema, use: Use, depth = 0): unknown {
  const shape = shapeOf(document, schema)
  const given = [...(shape.examples ?? []), ...('const' in shape ? [shape.const] : []), ...(shape.enum ?? [])]
  if (given.length > 0) return given[0]
  if (shape.default !== undefined) return shape.default
  if (depth > maxDepth) return null
  if (shape.variants.length > 0) return sample(document, shape.variants[0]!, use, depth + 1)
  const type = typeName(document, shape)
  if (shape.items) return [sample(document, shape.items, use, depth + 1)]
  if (type === 'object') {
    const all = visible(document, shape, use)
    const needed = use === 'request' ? all.filter(([name]) => shape.required?.includes(name)) : all
    const chosen = needed.length > 0 ? needed : all.slice(0, 1)
    return Object.fromEntries(chosen.map(([name, field]) => [name, sample(document, field, use, depth + 1)]))
  }
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return shape.minimum ?? 1
  return type === 'string' ? (samples[shape.format ?? ''] ?? 'string') : type.startsWith('map of') ? {} : null
}
