// Checks expressions that users give for table keys: columns, functions, literals, arithmetic and tuples. The result is always a single
// expression; all names in it are quoted, so that none is a keyword.
import { EngineError } from './engine.ts'
import { GrammarError, TokenReader } from './grammar-tokens.ts'
import { quoteName, quoteText } from './names.ts'

const maxShownLength = 100

/** The expression rebuilt from its tokens; a list becomes a tuple. `what` names the setting in errors: `partitionBy`. */
export function checkExpression(text: string, what = 'expression'): string {
  try {
    const reader = new TokenReader(text)
    const parts = [takeSum(reader)]
    while (reader.takeSign(',')) parts.push(takeSum(reader))
    reader.mustEnd()
    return parts.length === 1 ? parts[0]! : `tuple(${parts.join(', ')})`
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error
    const shown = JSON.stringify(text.slice(0, maxShownLength))
    const remedy = 'use columns, functions of columns, numbers, texts and arithmetic'
    throw new EngineError('user', `the ${what} ${shown} ${error.message}; ${remedy}`)
  }
}

const operators = ['+', '-', '*', '/', '%']

function takeSum(reader: TokenReader): string {
  return reader.nested(() => {
    let expression = takeOperand(reader)
    for (let sign = operatorOf(reader); sign !== undefined; sign = operatorOf(reader)) {
      reader.take()
      expression += ` ${sign} ${takeOperand(reader)}`
    }
    return expression
  })
}

function operatorOf(reader: TokenReader): string | undefined {
  const { kind, value } = reader.peek()
  return kind === 'sign' && operators.includes(value) ? value : undefined
}

function takeOperand(reader: TokenReader): string {
  if (reader.takeSign('-')) return negative(reader)
  if (reader.takeSign('(')) return tupleOf(reader.list(() => takeSum(reader)))
  const interval = takeInterval(reader)
  if (interval !== undefined) return interval
  const { kind, value } = reader.take()
  if (kind === 'number') return value
  if (kind === 'text') return quoteText(value)
  if (kind === 'word' && reader.takeSign('('))
    return `${functionName(value)}(${reader.list(() => takeSum(reader)).join(', ')})`
  if ((kind !== 'word' && kind !== 'name') || value === '')
    throw new GrammarError('lacks a column, a function or a value')
  let name = quoteName(value)
  while (reader.takeSign('.')) name += `.${quoteName(takeNamePart(reader))}`
  return name
}

/** Never writes `--`, which would begin a comment. */
function negative(reader: TokenReader): string {
  return reader.nested(() => {
    if (reader.peek().kind === 'number') return `-${reader.take().value}`
    return `negate(${takeOperand(reader)})`
  })
}

function tupleOf(parts: string[]): string {
  return parts.length === 1 ? `(${parts[0]})` : `tuple(${parts.join(', ')})`
}

function takeNamePart(reader: TokenReader): string {
  const { kind, value } = reader.take()
  if ((kind !== 'word' && kind !== 'name') || value === '') throw new GrammarError('has a dot without a name')
  return value
}

/** Keywords that can precede a bracket without being functions. */
const notFunctions =
  /^(?:select|with|from|in|not|and|or|case|when|then|else|exists|distinct|all|any|as|is|like|between|interval)$/i

function functionName(name: string): string {
  if (notFunctions.test(name)) throw new GrammarError(`names ${name}, which is not a function`)
  return name
}

const units = ['Second', 'Minute', 'Hour', 'Day', 'Week', 'Month', 'Quarter', 'Year']

/** `INTERVAL 5 MINUTE`, as a function. */
function takeInterval(reader: TokenReader): string | undefined {
  if (!reader.isWord('INTERVAL') || reader.peek(1).kind !== 'number') return undefined
  reader.take()
  const { value: count } = reader.take()
  const unitWord = reader.take().value.toLowerCase()
  const unit = units.find((each) => each.toLowerCase() === unitWord || `${each.toLowerCase()}s` === unitWord)
  if (unit === undefined || !/^\d{1,9}$/.test(count)) throw new GrammarError('has an interval that is not understood')
  return `toInterval${unit}(${count})`
}
