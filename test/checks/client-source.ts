// Generates the TypeScript client from the operations: a type per shape and a method per operation. It generates text instead of
// computed types, so that the client has plain interfaces and loads no server code at run time or in the compiler.

import { problems } from '../../src/lib/problem.ts'
import type { Rules } from '../../src/lib/shape-rules.ts'
import { type AnyOperation, isPaged, takesIfMatch } from '../../src/operation/operation.ts'
import { clientFields } from './client-fields.ts'

type Described = Rules & { $id?: string; description?: string; properties?: Record<string, Described> }

const head = [
  '// Generated from the list of operations: npm run generate.',
  '// biome-ignore-all format: written by a program.',
  '// biome-ignore-all assist/source/organizeImports: written by a program.',
]

/** Collects named types. */
class Shapes {
  readonly #texts = new Map<string, string>()

  /** TypeScript type of the values that a shape describes. */
  typeOf(shape: Described): string {
    const text = this.#unnamed(shape)
    if (shape.$id === undefined) return text
    this.name(shape.$id, text, shape.description)
    return shape.$id
  }

  name(name: string, type: string, description?: string): void {
    const text = `${comment(description)}export type ${name} = ${type}\n`
    const present = this.#texts.get(name)
    // Descriptions of equal types may differ; the types may not.
    const typePart = (it: string): string => it.slice(it.indexOf('export type'))
    if (present !== undefined && typePart(present) !== typePart(text)) {
      throw new Error(`two shapes are called ${name}, and they are not the same`)
    }
    if (present === undefined) this.#texts.set(name, text)
  }

  get names(): string[] {
    return [...this.#texts.keys()]
  }

  get text(): string {
    return [...this.#texts.values()].join('\n')
  }

  #unnamed(shape: Described): string {
    if (shape.anyOf) return union(shape.anyOf.map((branch) => this.typeOf(branch)))
    const values = shape.const === undefined ? shape.enum : [shape.const]
    if (values) return union(values.map((value) => (typeof value === 'string' ? quote(value) : String(value))))
    switch (shape.type) {
      case 'integer':
        return 'number'
      case 'array': {
        const item = this.typeOf(shape.items ?? {})
        return /[|& ]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
      }
      case 'object':
        return this.#object(shape)
      default:
        return shape.type ?? 'unknown'
    }
  }

  #object({ properties, required = [], additionalProperties }: Described): string {
    if (!properties || Object.keys(properties).length === 0) {
      const values = typeof additionalProperties === 'object' ? this.typeOf(additionalProperties) : 'unknown'
      return additionalProperties === false ? 'Record<string, never>' : `Record<string, ${values}>`
    }
    const fields = Object.entries(properties).map(([name, field]) =>
      this.field(name, field, required.includes(name) ? ':' : '?:'),
    )
    return `{\n${indent(fields.join(''))}}`
  }

  field(name: string, shape: Described, colon: ':' | '?:', orUndefined = ''): string {
    return `${comment(shape.description)}${/^\w+$/.test(name) ? name : quote(name)}${colon} ${this.typeOf(shape)}${orUndefined}\n`
  }
}

/** By path from the root of the project. */
export function clientSource(operations: AnyOperation[]): Record<string, string> {
  const shapes = new Shapes()
  const methods = operations.map((operation) => methodOf(operation, shapes))
  const lists = operations.filter(isPaged).map(({ id }) => quote(id))
  const codes = Object.keys(problems).map(quote)
  shapes.name('ProblemCode', union(codes), 'Codes of the errors of the API: docs/reference/errors.md.')
  const words = new Set(
    methods
      .join('')
      .replaceAll(/\/\*\*.*?\*\//gs, '')
      .match(/\w+/g),
  )
  const used = shapes.names.filter((name) => words.has(name)).sort()
  const options = ['CallOptions', 'VersionedWriteOptions', 'WriteOptions'].filter((name) => words.has(name))
  const operationsText = [
    ...head,
    `import { type Answer, ${['Caller', ...options.map((name) => `type ${name}`)].join(', ')} } from './caller.ts'`,
    `import type {\n${used.map((name) => `  ${name},\n`).join('')}} from './shapes.ts'`,
    '',
    '/** The lists, which answer page by page. */',
    `export type ListOperation = ${union(lists)}`,
    '',
    'export abstract class Operations extends Caller {',
    indent(methods.join('\n')).trimEnd(),
    '}',
    '',
  ]
  return {
    'src/client/shapes.ts': `${[...head, '', shapes.text].join('\n')}`,
    'src/client/operations.ts': operationsText.join('\n'),
    'src/client/fields.ts': clientFields(head, operations),
  }
}

function methodOf(operation: AnyOperation, shapes: Shapes): string {
  const { id, method, path, summary, description, body, result, textType, stability } = operation
  const paramsName = `${id[0]!.toUpperCase()}${id.slice(1)}Params`
  const params = [
    ...Object.entries<Described>(operation.params.properties).map(([name, shape]) => shapes.field(name, shape, ':')),
    // `undefined` is allowed, so that `cursor: page.next` type-checks.
    ...Object.entries<Described>(operation.query?.properties ?? {}).map(([name, shape]) =>
      operation.query.required.includes(name)
        ? shapes.field(name, shape, ':')
        : shapes.field(name, shape, '?:', ' | undefined'),
    ),
  ]
  shapes.name(paramsName, params.length > 0 ? `{\n${indent(params.join(''))}}` : 'Record<string, never>')
  const mayBeEmpty = operation.params.required.length === 0 && !operation.query?.required.length
  const optionsType =
    method === 'GET' ? 'CallOptions' : takesIfMatch(operation) ? 'VersionedWriteOptions' : 'WriteOptions'
  const inputs = [
    `params: ${paramsName}${mayBeEmpty && !body ? ' = {}' : ''}`,
    ...(body ? [`body: ${shapes.typeOf(body)}`] : []),
    `options?: ${optionsType}`,
  ]
  const promised = `{ method: '${method}', path: ${quote(path)}${textType ? ', text: true' : ''} }`
  const beta = stability === 'beta' ? ' (beta)' : ''
  return [
    comment(`${summary}${beta}. ${description}`).trimEnd(),
    `${id}(${inputs.join(', ')}): Promise<Answer<${shapes.typeOf(result)}>> {`,
    `  return this.call(${promised}, params, ${body ? 'body' : 'undefined'}, options)`,
    '}',
    '',
  ].join('\n')
}

function union(types: string[]): string {
  const members = [...new Set(types)]
  const oneLine = members.join(' | ')
  if (members.length === 0) return 'never'
  return oneLine.length <= 90 ? oneLine : `\n${members.map((member) => `  | ${member}\n`).join('')}`.trimEnd()
}

function comment(description: string | undefined): string {
  if (!description) return ''
  const lines = description.replaceAll('*/', '*\u200b/').split('\n')
  if (lines.length === 1) return `/** ${lines[0]} */\n`
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}

function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`
}
