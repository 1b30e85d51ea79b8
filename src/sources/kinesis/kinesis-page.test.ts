import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parsePage } from './kinesis-page.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const record = (Data: unknown, more: object = {}): object => ({
  SequenceNumber: '49',
  PartitionKey: 'a',
  ApproximateArrivalTimestamp: 1_700_000_000.1234,
  Data,
  ...more,
})
const parse = (answer: unknown, indent?: number): ReturnType<typeof parsePage> =>
  parsePage(Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer, undefined, indent)))
const textsOf = ({ records }: ReturnType<typeof parsePage>): string[] =>
  records.map(({ data }) => Buffer.from(data).toString())

describe('a page of Kinesis', () => {
  it('has the fields of the response', () => {
    const answer = { NextShardIterator: 'next', MillisBehindLatest: 1, Records: [record(base64('some ü'))] }
    const data = Buffer.from('some ü')
    const records = [{ sequence: '49', key: 'a', arrivedAtMs: 1_700_000_000_123, data }]
    assert.deepEqual(parse(answer), { records, next: 'next', isBehind: true })
    assert.deepEqual(parse({ NextShardIterator: null, Records: [] }), { records: [], next: undefined, isBehind: false })
  })

  it('has data of every length, with any JSON formatting', () => {
    const texts = ['', 'a', 'ab', 'abc', 'abcd', 'ÿþ?>'.repeat(5_000)]
    const answer = { Records: texts.map((text) => record(base64(text))) }
    for (const written of [
      JSON.stringify(answer),
      JSON.stringify(answer, undefined, 2),
      JSON.stringify(answer).replaceAll(':', ' : '),
      JSON.stringify(answer).replaceAll('/', '\\/'),
      JSON.stringify(answer).replaceAll('"Data"', '"\\u0044ata"'),
    ]) {
      assert.deepEqual(textsOf(parse(written)), texts)
    }
  })

  it('does not take parts of other strings for data', () => {
    const keys = ['"Data":"YWJj"', 'x"Data', 'Data', '\\', 'ключ "Data" : "', '{"Data":"YWJj"}']
    const answer = { Records: keys.map((key) => record(base64(`of ${key}`), { PartitionKey: key })) }
    for (const indent of [undefined, 1]) {
      const page = parse(answer, indent)
      assert.deepEqual(
        page.records.map(({ key }) => key),
        keys,
      )
      assert.deepEqual(
        textsOf(page),
        keys.map((key) => `of ${key}`),
      )
    }
  })

  it('has empty data where the response has none', () => {
    const { records } = parse({ Records: [record(base64('first')), record(null), { SequenceNumber: '50' }] })
    assert.deepEqual(
      records.map(({ data }) => data.length),
      [5, 0, 0],
    )
    assert.deepEqual([records[2]?.key, records[2]?.arrivedAtMs], ['', 0])
  })

  for (const [what, answer] of [
    ['nothing', ''],
    ['another format', '<html></html>'],
    ['broken off', '{"Records":[{"SequenceNumber":"1","Data":"YWJj'],
    ['a number', '5'],
    ['null', 'null'],
    ['without records', '{}'],
    ['with an invalid record', { Records: [null] }],
    ['with records as an object', { Records: {} }],
    ['with an invalid iterator', { Records: [], NextShardIterator: 5 }],
    ['with a record without a sequence number', { Records: [record('', { SequenceNumber: undefined })] }],
    ['with an invalid timestamp', { Records: [record('', { ApproximateArrivalTimestamp: 'today' })] }],
    ['with data that is not base64', { Records: [record('YW?j')] }],
    ['with data that is cut off', { Records: [record('YWJjZ')] }],
    ['with data that is a number', { Records: [record(3)] }],
    ['with data that is a list', { Records: [record(base64('first')), record([0])] }],
  ] as const) {
    it(`rejects a response that is ${what}`, () => {
      assert.throws(() => parse(answer), /not a response of Kinesis|JSON/)
    })
  }
})
