import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { blobEvent, inSns, s3Event, s3Record } from '../../../test/sources/queue-server.ts'
import { createdObjects, type EventOrigin } from './object-events.ts'

const s3: EventOrigin = { kind: 's3', bucket: 'data' }
const azure: EventOrigin = { kind: 'azure', container: 'data' }

const records = (...list: unknown[]) => JSON.stringify({ Records: list })
const encodedRecord = (key: string) =>
  records({ eventName: 'ObjectCreated:Put', s3: { bucket: { name: 'data' }, object: { key } } })
const testEvent = '{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-01-01T00:00:00.000Z","Bucket":"data"}'
const bridged = (details: object, type = 'Object Created') =>
  JSON.stringify({
    version: '0',
    id: '17793124-05d4-b198-2fde-7ededc63b103',
    'detail-type': type,
    source: 'aws.s3',
    account: '111122223333',
    time: '2026-01-01T00:00:00Z',
    region: 'eu-west-1',
    resources: ['arn:aws:s3:::data'],
    detail: { version: '0', bucket: { name: 'data' }, object: { key: 'a', size: 5, etag: 'b1' }, ...details },
  })

const subjectOf = (key: string, container = 'data') => `/blobServices/default/containers/${container}/blobs/${key}`
const created = 'Microsoft.Storage.BlobCreated'
const gridEvent = (more: object) => ({ eventType: created, subject: subjectOf('a'), data: {}, ...more })
const urlOf = (path: string) => ({ subject: undefined, data: { url: `https://me.blob.core.windows.net/${path}` } })
const text = (value: unknown) => JSON.stringify(value)
const base64 = (value: unknown) => Buffer.from(text(value)).toString('base64')
const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const wrapped = (times: number): string => (times === 0 ? s3Event('data', { key: 'a' }) : inSns(wrapped(times - 1)))

/** Undefined: not a known notification. */
const cases: [what: string, origin: EventOrigin, message: string, expected: string[][] | undefined][] = [
  ['an event of S3', s3, s3Event('data', { key: 'in/a.json' }), [['in/a.json']]],
  ['several objects', s3, s3Event('data', { key: 'a' }, { key: 'b' }), [['a'], ['b']]],
  ['a key with blanks, pluses and percents', s3, s3Event('data', { key: 'a b+c%20d' }), [['a b+c%20d']]],
  ['a key with characters of the world', s3, s3Event('data', { key: 'é/😀 &"' }), [['é/😀 &"']]],
  ['a key in lower-case escapes', s3, encodedRecord('a%c3%a9+b'), [['aé b']]],
  ['a multipart upload', s3, records(s3Record('data', { key: 'a' }, 'ObjectCreated:CompleteMultipartUpload')), [['a']]],
  [
    'a store that calls its events as filters do',
    s3,
    records(s3Record('data', { key: 'a' }, 's3:ObjectCreated:Put')),
    [['a']],
  ],
  ['an object that was removed', s3, records(s3Record('data', { key: 'a' }, 'ObjectRemoved:Delete')), []],
  [
    'created and removed',
    s3,
    records(s3Record('data', { key: 'a' }, 'ObjectRemoved:Delete'), s3Record('data', { key: 'b' })),
    [['b']],
  ],
  ['an object of another bucket', s3, s3Event('other', { key: 'a' }), []],
  ['no objects', s3, records(), []],
  ['the test of S3', s3, testEvent, []],
  ['the test of S3 by SNS', s3, inSns(testEvent), []],
  ['an event by SNS', s3, inSns(s3Event('data', { key: 'a b' })), [['a b']]],
  ['an event by two topics', s3, wrapped(2), [['a']]],
  ['an event wrapped without an end', s3, wrapped(4), undefined],
  ['a confirmation of SNS', s3, text({ Type: 'SubscriptionConfirmation', Message: 'You have chosen…' }), []],
  ['other notifications of SNS', s3, inSns('hello'), undefined],
  ['a notification of SNS without a message', s3, text({ Type: 'Notification' }), undefined],
  ['an event by EventBridge', s3, bridged({ object: { key: 'a b+c%20d/é' } }), [['a b+c%20d/é']]],
  ['an event by EventBridge and SNS', s3, inSns(bridged({})), [['a']]],
  ['EventBridge, deleted', s3, bridged({}, 'Object Deleted'), []],
  ['EventBridge, of another bucket', s3, bridged({ bucket: { name: 'other' } }), []],
  ['EventBridge, without an object', s3, bridged({ object: undefined }), undefined],
  ['a mark before the text', s3, `\uFEFF${s3Event('data', { key: 'a' })}`, [['a']]],
  ['a record that is not an object', s3, records(s3Record('data', { key: 'a' }), 7), undefined],
  ['a record without a name', s3, records({ s3: { bucket: { name: 'data' }, object: { key: 'a' } } }), undefined],
  [
    'a record without an object',
    s3,
    records({ eventName: 'ObjectCreated:Put', s3: { bucket: { name: 'data' } } }),
    undefined,
  ],
  [
    'a key that is no text',
    s3,
    records({ eventName: 'ObjectCreated:Put', s3: { bucket: { name: 'data' }, object: { key: 5 } } }),
    undefined,
  ],
  ['a key that cannot be decoded', s3, encodedRecord('a%zz'), undefined],
  ['a key that is no UTF-8', s3, encodedRecord('%ff%fe'), undefined],
  ['a key without a character', s3, encodedRecord(''), undefined],
  ['a key with a zero in it', s3, encodedRecord('a%00b'), undefined],
  ['a key that leads up', s3, encodedRecord('a/%2e%2e/%2e%2e/other/b'), undefined],
  ['a key that leads up, by EventBridge', s3, bridged({ object: { key: '../b' } }), undefined],
  ['a key that leads nowhere', s3, encodedRecord('a/.'), undefined],
  ['a key with dots', s3, encodedRecord('.a/..b/c../...'), [['.a/..b/c../...']]],
  ['a key that is cut in a character', s3, bridged({ object: { key: 'a\uD83D' } }), undefined],
  ['another Records', s3, text({ Records: { 0: 'a' } }), undefined],
  ['an event of Azure, where S3 is meant', s3, blobEvent('data', 'a'), undefined],
  ['nothing', s3, '', undefined],
  ['nonsense', s3, 'hello', undefined],
  ['null', s3, 'null', undefined],
  ['a number', s3, '17', undefined],
  ['a list', s3, '[{"Records":[]}]', undefined],
  ['names of objects in general', s3, '{"__proto__":{"Records":[]},"constructor":1}', undefined],
  ['deep nesting', s3, deep(200_000), undefined],
  ['deep nesting in an event', s3, `{"Records":${deep(200_000)}}`, undefined],
  ['1 MiB of blanks', s3, ' '.repeat(1 << 20), undefined],

  ['Event Grid, as it comes to a queue', azure, blobEvent('data', 'in/a.json'), [['in/a.json']]],
  ['Event Grid, several', azure, blobEvent('data', 'a', 'b'), [['a'], ['b']]],
  ['Event Grid, as text', azure, text([gridEvent({})]), [['a']]],
  ['Event Grid, without a list', azure, text(gridEvent({})), [['a']]],
  [
    'CloudEvents',
    azure,
    base64({ specversion: '1.0', type: created, source: '/x', subject: subjectOf('a'), data: {} }),
    [['a']],
  ],
  [
    'CloudEvents, several',
    azure,
    text([
      { type: created, subject: subjectOf('a') },
      { type: created, subject: subjectOf('b') },
    ]),
    [['a'], ['b']],
  ],
  [
    'a blob in a folder that looks like a container',
    azure,
    text(gridEvent({ subject: subjectOf('x/blobs/y') })),
    [['x/blobs/y']],
  ],
  ['only a URL', azure, text(gridEvent(urlOf('data/a%20b'))), [['a b', 'a%20b']]],
  ['only a URL, of an account in the path', azure, text(gridEvent(urlOf('me/data/a'))), [['a']]],
  ['a URL with a query', azure, text(gridEvent(urlOf('data/a?snapshot=1'))), [['a']]],
  [
    'a subject that says less than the URL',
    azure,
    text(gridEvent({ ...urlOf('data/%F0%9F%98%80'), subject: subjectOf('\uFFFD') })),
    [['\uFFFD', '😀', '%F0%9F%98%80']],
  ],
  ['a URL that cannot be decoded', azure, text(gridEvent(urlOf('data/100%'))), [['100%']]],
  ['a blob that leads up', azure, text(gridEvent({ subject: subjectOf('a/../../other/b') })), undefined],
  ['a URL that leads up', azure, text(gridEvent(urlOf('data/a/%2E%2E/../b'))), undefined],
  ['another container', azure, text(gridEvent({ subject: subjectOf('a', 'other') })), []],
  ['a blob that was deleted', azure, text(gridEvent({ eventType: 'Microsoft.Storage.BlobDeleted' })), []],
  [
    'a test of the subscription',
    azure,
    text([{ eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent', data: {} }]),
    [],
  ],
  ['an event without a subject', azure, text(gridEvent({ subject: undefined })), undefined],
  ['an event without a type', azure, text({ subject: subjectOf('a') }), undefined],
  ['an event of S3, where Azure is meant', azure, s3Event('data', { key: 'a' }), undefined],
  ['base64 of nonsense', azure, Buffer.from('hello').toString('base64'), undefined],
  ['a text that is no base64 either', azure, 'hello, world', undefined],
  ['no events', azure, '[]', []],
  ['deep nesting at Azure', azure, deep(20_000), undefined],
]

/** Keys that are accepted. */
const isPossible = (key: string): boolean => !key.includes('\0') && !key.split('/').some((part) => /^\.\.?$/.test(part))

describe('an event notification', () => {
  for (const [what, origin, message, expected] of cases) {
    it(`is parsed: ${what}`, () => {
      assert.deepEqual(createdObjects(message, origin), expected)
    })
  }

  it('has the key that was sent to S3, for any characters', () => {
    const keys = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }).filter(isPossible)
    fc.assert(
      fc.property(keys, (key) => {
        assert.deepEqual(createdObjects(s3Event('data', { key }), s3), [[key]])
        assert.deepEqual(createdObjects(bridged({ object: { key } }), s3), [[key]])
        assert.equal(createdObjects(blobEvent('data', key), azure)?.[0]?.[0], key)
      }),
    )
  })

  it('never throws, for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((Records) => text({ Records })),
        ),
        (message) => {
          for (const origin of [s3, azure]) {
            const found = createdObjects(message, origin)
            assert.ok(found === undefined || Array.isArray(found))
          }
        },
      ),
    )
  })
})
