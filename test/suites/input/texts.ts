// Input table: valid texts that must be returned unchanged.
import { emoji, type Line, openTable } from './line.ts'

export const textLines: Line[] = []
const { good } = openTable(textLines)

const texts: [string, string][] = [
  ['255 emoji', emoji.repeat(255)],
  ['a family in one glyph', '👨‍👩‍👧‍👦 🏳️‍🌈'],
  ['right-to-left text', 'خط أنابيب الطلبات'],
  ['bidirectional controls', 'a\u202eb\u2066c\u2069'],
  ['combining characters', 'Z̸̡̛a̶l̷g̵o̴'],
  ['a decomposed letter', 'cafe\u0301'],
  ['a composed letter', 'caf\u00e9'],
  ['Chinese, Hindi and Thai', '管道 पाइप ท่อ'],
  ['characters beyond the first plane', '𝒫𝒾𝓅𝑒 𠜎'],
  ['a byte order mark inside', 'a\ufeffb'],
  ['line and paragraph separators', 'a\u2028b\u2029c'],
  ['control characters', 'a\u0001\t\n\r\u001f\u007fb'],
  ['noncharacters', 'a\ufffe\uffffb'],
  ['private use', 'a\ue000b'],
  ['markup', '<script>alert("x")</script>&amp;'],
  ['SQL', `'; DROP TABLE pipes; --"`],
  ['format strings', '%s%n%$x{{7*7}}'],
  ['placeholders', ':name $1 ?1'],
  ['backslashes and quotes', '\\"\\u0000\\'],
  ['spaces around', '  spaces  '],
]
for (const [name, text] of texts) {
  good('kafka', `${name} in a name`, { name: text }, `"name":${JSON.stringify(text)}`)
}
for (const [index, [name, text]] of texts.slice(0, 10).entries()) {
  good(
    'endpoint',
    `${name} in a description`,
    { id: `vpce-${index}`, description: text },
    `"description":${JSON.stringify(text)}`,
  )
}
