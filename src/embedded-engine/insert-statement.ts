// Finds INSERT statements whose rows are sent with the request. The library passes no data to input(), but reads the same rows from a
// file: the statement is rewritten to name it.
import { quoteText } from '../engine/names.ts'

export interface InsertStatement {
  /** The statement that reads its rows from a file. */
  text(fileName: string): string
  /** Bytes of the request that belong to the statement; the rest is data. */
  length: number
}

interface Word {
  text: string
  start: number
  end: number
}

/** A string, a quoted name, a comment, or a word. An unclosed token extends to the end, so that the text is scanned once. */
const tokens = /'(?:[^'\\]|\\.|'')*'?|`(?:[^`\\]|\\.)*`?|"(?:[^"\\]|\\.)*"?|--[^\n]*|\/\*(?:.*?\*\/|.*)|\w+/gs

/**
 * `sent` has one character per byte (latin1), since data in any encoding may follow. Undefined when it is no such statement, or when
 * `isComplete` is false and its end may not have arrived yet.
 */
export function findInsert(sent: string, isComplete: boolean): InsertStatement | undefined {
  let source: Word | undefined
  let isSelect = false
  let isFirst = true
  const words = wordsOutsideQuotes(sent)
  for (let step = words.next(); !step.done; step = words.next()) {
    const word = step.value
    const name = word.text.toUpperCase()
    if (isFirst && name !== 'INSERT') return undefined
    isFirst = false
    if (name === 'SELECT') isSelect = true
    else if (name === 'INPUT' && isSelect && /^\s*\(/.test(sent.slice(word.end, word.end + 100))) source = word
    else if (name === 'SETTINGS' && !isSelect) source = word
    else if (name === 'VALUES' && !isSelect)
      return cutInsert(sent, isComplete, { source, end: word, format: { ...word, text: 'Values' } })
    else if (name === 'FORMAT' && (source || !isSelect)) {
      const format = words.next()
      if (!format.done) return cutInsert(sent, isComplete, { source, end: word, format: format.value })
    }
  }
  return undefined
}

function cutInsert(
  sent: string,
  isComplete: boolean,
  { source, end, format }: { source: Word | undefined; end: Word; format: Word },
): InsertStatement | undefined {
  // One line break belongs to the statement; the data after it may begin with spaces.
  const [blank = ''] = /^[ \t\f]*\r?\n?/.exec(sent.slice(format.end, format.end + 1000)) ?? []
  const length = format.end + blank.length
  if (!isComplete && length === sent.length && !blank.endsWith('\n')) return undefined
  const part = (from: number, to: number): string => Buffer.from(sent.slice(from, to), 'latin1').toString()
  const before = part(0, (source ?? end).start)
  if (source?.text.toUpperCase() === 'INPUT') {
    const structure = part(source.end, end.start).trimStart().slice(1)
    return { length, text: (file) => `${before}file(${quoteText(file)}, '${format.text}', ${structure}` }
  }
  const settings = source ? part(source.start, end.start) : ''
  return {
    length,
    text: (file) => `${before} FROM INFILE ${quoteText(file)} COMPRESSION 'none' ${settings} FORMAT ${format.text}`,
  }
}

function* wordsOutsideQuotes(text: string): Generator<Word> {
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (/^\w/.test(token)) yield { text: token, start: index, end: index + token.length }
  }
}
