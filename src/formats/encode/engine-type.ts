// Parser of column types, as far as the type decides how a value is written.

export interface EngineType {
  /** Without wrappers: `Int64` for `LowCardinality(Nullable(Int64))`. */
  name: string
  isNullable: boolean
  /** Element types of `Array`, `Map` and `Tuple`. */
  elements: EngineType[]
  /** Element names of a named `Tuple`. */
  elementNames: string[]
}

const maxDepth = 32
const maxLength = 4096

export function parseType(type: string, depth = 0): EngineType {
  const { name, parameters } = partsOf(type.slice(0, maxLength))
  if (depth < maxDepth) {
    if (name === 'Nullable') return { ...parseType(parameters[0] ?? '', depth + 1), isNullable: true }
    if (name === 'LowCardinality') return parseType(parameters[0] ?? '', depth + 1)
    if (name === 'SimpleAggregateFunction') return parseType(parameters[1] ?? '', depth + 1)
  }
  const named = name === 'Tuple' ? parameters.map(namedElement) : []
  const hasElements = depth < maxDepth && ['Array', 'Map', 'Tuple'].includes(name)
  const elementTypes = name === 'Tuple' ? named.map((element) => element.type) : parameters
  return {
    name,
    isNullable: false,
    elements: hasElements ? elementTypes.map((element) => parseType(element, depth + 1)) : [],
    elementNames: named.flatMap((element) => element.name ?? []),
  }
}

function partsOf(type: string): { name: string; parameters: string[] } {
  const match = /^\s*(\w+)\s*(?:\(([\s\S]*)\)\s*)?$/.exec(type)
  const inner = match?.[2]?.trim() ?? ''
  return { name: match?.[1] ?? '', parameters: inner === '' ? [] : splitParameters(inner) }
}

/** Splits at commas outside parentheses and quotes. An unclosed quote extends to the end, so that the text is scanned once. */
function splitParameters(text: string): string[] {
  const parameters: string[] = []
  let depth = 0
  let start = 0
  for (const match of text.matchAll(/'(?:[^'\\]|\\[\s\S])*'?|`[^`]*`?|[(),]/g)) {
    if (match[0] === '(') depth++
    else if (match[0] === ')') depth--
    else if (match[0] === ',' && depth === 0) {
      parameters.push(text.slice(start, match.index).trim())
      start = match.index + 1
    }
  }
  parameters.push(text.slice(start).trim())
  return parameters
}

function namedElement(text: string): { name?: string; type: string } {
  const match = /^(?:`([^`]+)`|(\w+))\s+(\S[\s\S]*)$/.exec(text)
  const name = match?.[1] ?? match?.[2]
  return name === undefined ? { type: text } : { name, type: match![3]! }
}
