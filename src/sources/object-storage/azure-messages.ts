// Messages of Azure's queues, cut down to what is read of them before its client sees them: the client takes its time for each
// character of a text, and more for each that is escaped. Whoever answers decides what is in an answer; this process serves everybody.

import { elementText } from './azure-xml.ts'

/** Most that is asked for at once. */
export const maxMessages = 16
/** Of 64 KiB each, also when every character is escaped. */
export const maxMessagesBytes = 8_000_000

/** Of a field. */
const maxCharacters = 1_000
const fields = ['MessageId', 'PopReceipt', 'DequeueCount']

/** Texts are base64 of what they were: `textOf` gives them back. Empty when these are no messages. */
export function slimMessages(xml: string): string {
  const [head = '', ...rest] = xml.split('<QueueMessage>', maxMessages + 2)
  if (!head.includes('<QueueMessagesList') || rest.length > maxMessages) return ''
  const messages = rest.map((piece) => slimMessage(piece.split('</QueueMessage>', 1)[0]!))
  return `<QueueMessagesList>${messages.join('')}</QueueMessagesList>`
}

export function textOf(slimText: string): string {
  return Buffer.from(slimText, 'base64').toString()
}

function slimMessage(message: string): string {
  const values = fields.map((field) => {
    const value = elementText(message, field, maxCharacters)
    return value === undefined ? '' : `<${field}>${value}</${field}>`
  })
  const text = elementText(message, 'MessageText', maxMessagesBytes) ?? ''
  const slimText = Buffer.from(unescaped(text)).toString('base64')
  return `<QueueMessage>${values.join('')}<MessageText>${slimText}</MessageText></QueueMessage>`
}

const names: [escaped: string, character: string][] = [
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#xD;', '\r'],
  ['&#xA;', '\n'],
  ['&#x26;', '&amp;'],
  ['&#38;', '&amp;'],
  // The last one: what it leaves is not escaped any more.
  ['&amp;', '&'],
]
/** Who writes more of them by their numbers tells of no object. */
const maxNumbers = 10_000

function unescaped(text: string): string {
  const isNumbered = text.includes('&#') && text.split('&#', maxNumbers + 1).length <= maxNumbers
  const numbered = isNumbered ? text.replaceAll(/&#(x[0-9a-f]{1,6}|\d{1,7});/gi, characterOf) : text
  return names.reduce((rest, [escaped, character]) => rest.replaceAll(escaped, character), numbered)
}

function characterOf(escaped: string, number: string): string {
  const code = Number(/^x/i.test(number) ? `0${number}` : number)
  // Not what would begin another one.
  return code <= 0x10ffff && code !== 0x26 ? String.fromCodePoint(code) : escaped
}
