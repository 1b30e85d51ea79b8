// A look at the text of Protobuf schemas before it is parsed. The parser's time grows with the square of the fields of a message
// and of the length of a string that does not end: a schema from outside could hold this process for minutes. What the parser
// would leave out without a word is refused, too.
import { SchemaFault } from './schema-fault.ts'

const token = /\/\/[^\n]*|\/\*.*?\*\/|\/\*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|\w+|\S/gs

/** As if one message had 2,000 fields, which takes a part of a second. */
const mostWork = 2_000 ** 2

interface Block {
  /** The word that its statement begins with. */
  keyword: string
  statements: number
  /** Also between ranges that are reserved, each of which is held against every field. */
  commas: number
}

const newBlock = (keyword: string): Block => ({ keyword, statements: 0, commas: 0 })

/** Throws a SchemaFault for schemas that take too long to parse together. */
export function checkProtobufTexts(texts: string[]): void {
  // Extensions all add to messages that may stand elsewhere.
  const extensions = newBlock('message')
  let work = 0
  for (const text of texts) {
    const blocks = [newBlock('')]
    let keyword = ''
    for (const [part] of text.matchAll(token)) {
      const block = blocks.at(-1)!
      switch (part) {
        case '"':
        case "'":
        case '/*':
          // Nothing that begins like this is a token when it ends.
          throw new SchemaFault('has a text or a comment that does not end')
        case '__proto__':
          // The parser leaves it out, and with it values and the places of messages.
          throw new SchemaFault('uses the name __proto__, which cannot be read')
        case ',':
          block.commas++
          break
        case ';':
          block.statements++
          keyword = ''
          break
        case '{':
          blocks.push(newBlock(keyword))
          keyword = ''
          break
        case '}':
          work += leave(blocks, extensions)
          keyword = ''
          break
        default:
          if (keyword === '' && /^\w/.test(part)) keyword = part
      }
      if (work + workOf(blocks.at(-1)!) + workOf(extensions) > mostWork) {
        throw new SchemaFault('has more fields in its messages than can be read')
      }
    }
  }
}

function workOf({ keyword, statements, commas }: Block): number {
  if (keyword === '') return 0
  return keyword === 'enum' ? statements * commas : (statements + commas) ** 2
}

/** What the block costs that ends here, unless another one counts it. */
function leave(blocks: Block[], extensions: Block): number {
  if (blocks.length === 1) return 0
  const block = blocks.pop()!
  const outer = blocks.at(-1)!
  // A field may end with a block in place of a semicolon.
  outer.statements++
  const heir = heirOf(block, outer, extensions)
  if (!heir) return workOf(block)
  heir.statements += block.statements
  heir.commas += block.commas
  return 0
}

function heirOf({ keyword }: Block, outer: Block, extensions: Block): Block | undefined {
  if (keyword === 'extend') return extensions
  return keyword === 'oneof' ? outer : undefined
}
