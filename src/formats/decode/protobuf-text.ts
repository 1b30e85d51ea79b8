// Removes everything from Protobuf schemas that decoding does not need, and limits their size. The parser takes quadratic time for
// fields, options and names, and schemas are untrusted: parsing must take less than a second.
import {
  mostParts,
  readOption,
  readStatement,
  skipBlock,
  type TakeToken,
  takeTokens,
  unreadable,
} from './protobuf-tokens.ts'
import { SchemaFault } from './schema-fault.ts'

export interface PrunedText {
  text: string
  /** Empty without a package statement. */
  packageName: string
  /** Top-level messages and enums. */
  names: string[]
}

/** Parsing time of each element, in tenths of a microsecond, on a slow machine. */
const costs = {
  /** Including removed elements and comments. */
  token: 2,
  option: 300,
  /** A field, a value of an enum, an import. */
  member: 60,
  /** Two members, or a member and a range, of one message. */
  pair: 1,
  message: 300,
  /** Per letter of the full name of a message, which is registered in all enclosing scopes. */
  letter: 0.25,
}
/** A third of a second: a message with 1,700 fields, or 8,000 messages with a field each. */
const mostWork = 3_000_000

interface Block {
  kind: 'file' | 'message' | 'enum' | 'oneof' | 'other'
  /** Fields of a message, values of an enum. */
  members: number
  /** Ranges and names, each of which is compared with every member. */
  reserved: number
  options: Set<string>
  /** Length of the full name. */
  nameLength: number
}

const newBlock = (kind: Block['kind'], nameLength: number): Block => {
  return { kind, members: 0, reserved: 0, options: new Set(), nameLength }
}

/** Throws a SchemaFault when the total cost of all texts is too high. */
type Spend = (cost: number) => void

interface Pruning {
  take: TakeToken
  spend: Spend
  /** Enclosing blocks, the file first. */
  blocks: Block[]
  kept: string[]
  packageName: string
  names: string[]
}

/** Throws a SchemaFault, also when all schemas together take too long to parse. */
export function pruneProtobufTexts(texts: string[]): PrunedText[] {
  let work = 0
  const spend: Spend = (cost) => {
    work += cost
    if (work > mostWork) throw new SchemaFault('has more messages, fields and options than can be read')
  }
  return texts.map((text) => {
    const take = takeTokens(text, () => spend(costs.token))
    const pruning: Pruning = { take, spend, blocks: [newBlock('file', 0)], kept: [], packageName: '', names: [] }
    pruneText(pruning)
    const { kept, packageName, names } = pruning
    return { text: kept.join(' '), packageName, names }
  })
}

function pruneText(pruning: Pruning): void {
  const { take, blocks, kept, spend } = pruning
  for (let first = take(); first !== undefined; first = take()) {
    const block = blocks.at(-1)!
    if (first === ';') continue
    if (first === '}') {
      leaveBlock(pruning)
    } else if (first === 'option') {
      const { options } = readOption(take, [';'], block.options)
      spend(options.length * costs.option)
      for (const option of options) kept.push('option', ...option, ';')
    } else {
      const { parts, end, optionCount } = readStatement(take, first)
      spend(costs.member + optionCount * costs.option)
      if (end === ';') addLine(parts, block, pruning)
      else enterBlock(parts, block, pruning)
    }
  }
  if (blocks.length > 1) throw unreadable()
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

function enterBlock(parts: string[], block: Block, { take, blocks, kept, spend, names }: Pruning): void {
  checkLength(parts)
  const [keyword = '', name = ''] = parts[0] === 'export' || parts[0] === 'local' ? parts.slice(1) : parts
  const mayDefine = block.kind === 'file' || block.kind === 'message'
  // Decoding needs neither services nor extensions.
  if (mayDefine && (keyword === 'service' || keyword === 'extend')) {
    skipBlock(take)
    return
  }
  kept.push(...parts, '{')
  if (mayDefine && (keyword === 'message' || keyword === 'enum')) {
    if (block.kind === 'file') names.push(name)
    blocks.push(newBlock(keyword, block.nameLength + 1 + name.length))
  } else {
    block.members++
    // A group is a field and a message. Its name is not longer than the statement.
    const isGroup = parts.includes('group')
    const kind = isGroup ? 'message' : keyword === 'oneof' ? 'oneof' : 'other'
    blocks.push(newBlock(kind, block.nameLength + (isGroup ? parts.join('').length : 0)))
  }
  spend(costs.message + costs.letter * blocks.at(-1)!.nameLength)
}

function leaveBlock({ blocks, kept, spend }: Pruning): void {
  const { kind, members, reserved } = blocks.pop()!
  const outer = blocks.at(-1)
  if (!outer) throw unreadable()
  kept.push('}')
  // The fields of a oneof are fields of its message.
  if (kind === 'oneof') outer.members += members
  spend(costs.pair * (kind === 'message' ? (members + reserved) ** 2 : members * reserved))
}

function checkLength(parts: string[]): void {
  if (parts.length > mostParts) throw new SchemaFault('has a statement that is longer than can be read')
}
