import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { maxMessages, slimMessages, textOf } from './azure-messages.ts'

const messageOf = (text: string) =>
  `<QueueMessage><MessageId>1-2</MessageId><InsertionTime>Mon</InsertionTime><PopReceipt>Ag&amp;A=</PopReceipt>` +
  `<DequeueCount>3</DequeueCount><MessageText>${text}</MessageText></QueueMessage>`
const listOf = (...messages: string[]) =>
  `<?xml version="1.0"?><QueueMessagesList>${messages.join('')}</QueueMessagesList>`
const textIn = (xml: string) => textOf(/<MessageText>(.*)<\/MessageText>/.exec(xml)?.[1] ?? '')

describe('Azure messages before the SDK parses them', () => {
  it('have only the used fields', () => {
    const slim = slimMessages(listOf(messageOf('hello')))
    assert.match(
      slim,
      /^<QueueMessagesList><QueueMessage><MessageId>1-2<\/MessageId><PopReceipt>Ag&amp;A=<\/PopReceipt>/,
    )
    assert.doesNotMatch(slim, /InsertionTime/)
    assert.equal(textIn(slim), 'hello')
  })

  it('keep their texts', () => {
    for (const [escaped, text] of [
      ['&lt;a b=&quot;c&quot;&gt; &amp;amp; &apos;', `<a b="c"> &amp; '`],
      ['&#xD;&#10;&#x1F600;ü', '\r\n😀ü'],
      ['&unknown; &#xFFFFFF; & &;', '&unknown; &#xFFFFFF; & &;'],
      ['&amp;lt; &#38;lt; &#x26;#10; &#xd;', '&lt; &lt; &#10; \r'],
      ['', ''],
    ]) {
      assert.equal(textIn(slimMessages(listOf(messageOf(escaped!)))), text)
    }
  })

  it('are empty when there are too many, or for other XML', () => {
    assert.equal(slimMessages('<html></html>'), '')
    assert.equal(slimMessages(listOf(...Array.from({ length: maxMessages + 1 }, () => messageOf('a')))), '')
    assert.equal(slimMessages(listOf()), '<QueueMessagesList></QueueMessagesList>')
  })

  it('are parsed quickly for any content', () => {
    for (const character of ['&quot;', '&#x41;', '&']) {
      const startedAtMs = performance.now()
      const messages = Array.from({ length: maxMessages }, () => messageOf(character.repeat(65_536)))
      assert.ok(slimMessages(listOf(...messages)).length > maxMessages * 65_536)
      assert.ok(performance.now() - startedAtMs < 5_000, character)
    }
  })
})
