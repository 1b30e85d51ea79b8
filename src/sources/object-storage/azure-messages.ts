// Removes unused parts of Azure queue messages before the SDK parses them: it is slow for each character of a text, and slower for
// each escaped one. Answers are untrusted, and this process serves all organizations.

import { elementText } from './azure-xml.ts'

/** Per request. */
export const maxMessages = 16
/** For messages of 64 KiB with every character escaped. */
export const maxMessagesBytes = 8_000_000

/** Of a field. */
const maxCharacters = 1_000
const fields = ['MessageId', 'PopReceipt', 'DequeueCount']

/** Texts are encoded as base64; `textOf` decodes them. Empty when the XML is not a list of messages. */
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
  // Must be last: its result is not unescaped again.
  ['&amp;', '&'],
]
/** With more numeric references, the message is not a notification. */
const maxNumbers = 10_000

function unescaped(text: string): string {
  const isNumbered = text.includes('&#') && text.split('&#', maxNumbers + 1).length <= maxNumbers
  const numbered = isNumbered ? text.replaceAll(/&#(x[0-9a-f]{1,6}|\d{1,7});/gi, characterOf) : text
  return names.reduce((rest, [escaped, character]) => rest.replaceAll(escaped, character), numbered)
}

function characterOf(escaped: string, number: string): string {
  const code = Number(/^x/i.test(number) ? `0${number}` : number)
  // Not `&`, which would start another reference.
  return code <= 0x10ffff && code !== 0x26 ? String.fromCodePoint(code) : escaped
}
