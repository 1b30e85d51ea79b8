// What reading bytes needs of the text of Protobuf schemas. The parser takes time with the square of fields, options and names,
// and schemas come from outside: it is given only what matters here, and no more of that than it reads in a part of a second.
import { readOption, readStatement, type Statement, skipBlock, type TakeToken, takeTokens } from './protobuf-tokens.ts'
import { SchemaFault } from './schema-fault.ts'

export interface PrunedText {
  text: string
  /** Empty when the text names none. */
  packageName: string
  /** Of the messages and enums at its top. */
  names: string[]
}

/** As if one message had 2,000 fields. */
const mostWork = 2_000 ** 2
const mostStatements = 50_000
/** Of the full names of messages and enums together: each is written out, and what is around it is told of it. */
const mostNameLength = 2_000_000
/** Of a field with its default. */
const mostParts = 100

interface Block {
  kind: 'file' | 'message' | 'enum' | 'oneof' | 'other'
  /** Fields of a message, values of an enum. */
  members: number
  /** Ranges and names, each of which is held against every member. */
  reserved: number
  options: Set<string>
  /** Of the full name. */
  nameLength: number
}

const newBlock = (kind: Block['kind'], nameLength: number): Block => {
  return { kind, members: 0, reserved: 0, options: new Set(), nameLength }
}

type Spent = Record<'work' | 'statements' | 'nameLength', number>

interface Pruning {
  take: TakeToken
  spent: Spent
  /** From the file to what is within. */
  blocks: Block[]
  kept: string[]
  packageName: string
  names: string[]
}

/** Throws a SchemaFault, also for schemas that take too long to parse together. */
export function pruneProtobufTexts(texts: string[]): PrunedText[] {
  const spent: Spent = { work: 0, statements: 0, nameLength: 0 }
  return texts.map((text) => {
    const file = newBlock('file', 0)
    const pruning = { take: takeTokens(text), spent, blocks: [file], kept: [], packageName: '', names: [] }
    pruneText(pruning)
    const { kept, packageName, names } = pruning
    return { text: kept.join(' '), packageName, names }
  })
}

function pruneText(pruning: Pruning): void {
  const { take, blocks, kept, spent } = pruning
  for (let first = take(); first !== undefined; first = take()) {
    const block = blocks.at(-1)!
    if (first === ';') continue
    if (first === '}') {
      leaveBlock(pruning)
    } else if (first === 'option') {
      for (const option of readOption(take, [';'], block.options).options) kept.push('option', ...option, ';')
    } else {
      const statement = readStatement(take, first)
      spent.statements++
      if (statement.end === ';') addLine(statement.parts, block, pruning)
      else enterBlock(statement.parts, block, pruning)
      checkSpent(spent)
    }
  }
  if (blocks.length > 1) throw new SchemaFault('ends before it is complete')
}

function addLine(parts: string[], block: Block, pruning: Pruning): void {
  const [keyword, name = ''] = parts
  if (keyword === 'reserved' || keyword === 'extensions') {
    block.reserved += 1 + parts.filter((part) => part === ',').length
  } else {
    checkLength(parts)
    block.members++
  }
  if (keyword === 'package' && block.kind === 'file') {
    pruning.packageName = name
    block.nameLength = name.length
  }
  for (const part of parts) pruning.kept.push(part)
  pruning.kept.push(';')
}

function enterBlock(parts: string[], block: Block, { take, blocks, kept, spent, names }: Pruning): void {
  checkLength(parts)
  const [keyword = '', name = ''] = parts[0] === 'export' || parts[0] === 'local' ? parts.slice(1) : parts
  const mayDefine = block.kind === 'file' || block.kind === 'message'
  // Extensions are not fields of a message, and nothing is called.
  if (mayDefine && (keyword === 'service' || keyword === 'extend')) return skipBlock(take)
  kept.push(...parts, '{')
  if (mayDefine && (keyword === 'message' || keyword === 'enum')) {
    if (block.kind === 'file') names.push(name)
    const inner = newBlock(keyword, block.nameLength + 1 + name.length)
    spent.nameLength += inner.nameLength
    blocks.push(inner)
    return
  }
  block.members++
  const isGroup = parts.includes('group')
  const inner = newBlock(isGroup ? 'message' : keyword === 'oneof' ? 'oneof' : 'other', block.nameLength)
  if (isGroup) inner.nameLength += parts.join('').length
  spent.nameLength += inner.nameLength
  blocks.push(inner)
}

function leaveBlock({ blocks, kept, spent }: Pruning): void {
  const block = blocks.pop()!
  const outer = blocks.at(-1)
  if (!outer) throw new SchemaFault('has a block that ends and did not begin')
  kept.push('}')
  // The fields of a choice are fields of its message.
  if (block.kind === 'oneof') outer.members += block.members
  spent.work += block.kind === 'message' ? (block.members + block.reserved) ** 2 : block.members * block.reserved
  checkSpent(spent)
}

function checkLength(parts: Statement['parts']): void {
  if (parts.length > mostParts) throw new SchemaFault('has a statement that is longer than can be read')
}

function checkSpent({ work, statements, nameLength }: Spent): void {
  if (work > mostWork) throw new SchemaFault('has more fields in its messages than can be read')
  if (statements > mostStatements) throw new SchemaFault('has more fields and values than can be read')
  if (nameLength > mostNameLength) throw new SchemaFault('has names that are longer than can be read')
}
