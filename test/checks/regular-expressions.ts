// Finds the regular expressions of the product by parsing its source, and checks them with recheck. `node bin/node24.js
// test/checks/regular-expressions.ts` checks those that are not known to be safe, and records the safe ones.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { consoleActions } from '../../src/execution/console-actions.ts'
import { operations } from '../../src/operations.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const safeFile = join(root, 'test/checks/safe-expressions.json')

export interface FoundExpression {
  source: string
  flags: string
  /** File and line, or the operation whose shape contains it. */
  where: string
}

/** Compiles the patterns of shapes, which `expressionsOfShapes` finds. */
const compilesPatterns = 'src/lib/shape.ts'

interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

export function findExpressions(): FoundExpression[] {
  const files = globSync(['src/**/*.{ts,js}', 'console/**/*.{ts,tsx,js}', 'bin/*.js'], {
    cwd: root,
    exclude: ['**/*.test.ts', 'console/dist/**'],
  })
  return [...files.sort().flatMap(expressionsOf), ...expressionsOfShapes()]
}

function expressionsOf(file: string): FoundExpression[] {
  const text = readFileSync(join(root, file), 'utf8')
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`)
  const nodes = [...nodesIn(program)]
  const constants = new Map<string, Node>()
  for (const { type, id, init } of nodes) {
    if (type === 'VariableDeclarator' && init) constants.set((id as { name: string }).name, init as Node)
  }
  return nodes.flatMap(({ type, start, regex, callee, arguments: given }): FoundExpression[] => {
    const where = `${file}:${text.slice(0, start).split('\n').length}`
    if (type === 'Literal' && regex) {
      const { pattern, flags } = regex as { pattern: string; flags: string }
      return [{ source: pattern, flags, where }]
    }
    const isMade = (type === 'NewExpression' || type === 'CallExpression') && (callee as Node).name === 'RegExp'
    if (!isMade) return []
    const [source, flags] = (given as Node[]).map((node) => constantText(node, constants))
    if (source !== undefined) return [{ source, flags: flags ?? '', where }]
    if (file === compilesPatterns) return []
    throw new Error(`${where} makes an expression of something that is not constant: write a literal`)
  })
}

function* nodesIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const each of value) yield* nodesIn(each)
  else if (typeof value === 'object' && value !== null && !(value instanceof RegExp)) {
    if ('type' in value) yield value as Node
    for (const each of Object.values(value)) yield* nodesIn(each)
  }
}

/** Text of a string, or of a template of constants in the same file. */
function constantText(node: Node, constants: Map<string, Node>): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type === 'Identifier') {
    const constant = constants.get(node.name as string)
    return constant && constantText(constant, constants)
  }
  if (node.type !== 'TemplateLiteral') return undefined
  const values = (node.expressions as Node[]).map((each) => constantText(each, constants))
  if (values.includes(undefined)) return undefined
  const quasis = node.quasis as unknown as { value: { cooked: string } }[]
  return quasis.map(({ value }, index) => `${index > 0 ? values[index - 1] : ''}${value.cooked}`).join('')
}

function expressionsOfShapes(): FoundExpression[] {
  const shapes: [string, unknown][] = [
    ...operations.map(({ id, params, query, body, result, echo }): (typeof shapes)[number] => [
      id,
      { params, query, body, result, echo: echo?.shape },
    ]),
    ...consoleActions.map(({ id, body, result }): (typeof shapes)[number] => [id, { body, result }]),
  ]
  return shapes.flatMap(([id, shape]) =>
    [...patternsIn(shape)].map((source) => ({ source, flags: 'u', where: `the shape of ${id}` })),
  )
}

function* patternsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inside] of Object.entries(value)) {
    if ((name === 'pattern' || name === 'checkedPattern') && typeof inside === 'string') yield inside
    else yield* patternsIn(inside)
  }
}

/** Recorded because recheck takes minutes for all of them. Each is checked again with one of eight commits (test/heavy). */
export function readSafe(): Set<string> {
  return new Set(JSON.parse(readFileSync(safeFile, 'utf8')) as string[])
}

export function spell({ source, flags }: Pick<FoundExpression, 'source' | 'flags'>): string {
  return `/${source}/${flags}`
}

/** Undefined if it is safe. */
export async function vulnerabilityOf({ source, flags }: FoundExpression): Promise<string | undefined> {
  // The same on every machine: other backends need Java or a platform binary.
  process.env.RECHECK_BACKEND = 'pure'
  const { check } = await import('recheck')
  // Elapsed time on a possibly busy machine; the limit is for expressions that recheck never finishes.
  const diagnostics = await check(source, flags, { timeout: 300_000 })
  if (diagnostics.status === 'safe') return undefined
  return diagnostics.status === 'vulnerable' ? diagnostics.complexity.summary : `unknown (${diagnostics.error.kind})`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const known = readSafe()
  const safe = new Set<string>()
  for (const expression of findExpressions()) {
    const spelt = spell(expression)
    const isKnown = known.has(spelt) || safe.has(spelt)
    const vulnerability = isKnown ? undefined : await vulnerabilityOf(expression)
    if (vulnerability === undefined) safe.add(spelt)
    else console.log(`${expression.where}: ${spelt} is ${vulnerability}`)
  }
  writeFileSync(safeFile, `${JSON.stringify([...safe].sort(), null, 2)}\n`)
}
