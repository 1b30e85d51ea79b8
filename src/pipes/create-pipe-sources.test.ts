// The rules of each kind of source when a pipe is created: every value, bound, need and exclusion. Every secret in its cases
// has the word "hush" in it.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import {
  type Json,
  leastPipes,
  pointersOf,
  type ServiceOfPipes,
  serviceOfPipes,
  withField,
} from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { kafkaAccepted, kafkaRefused } from '../../test/pipe-cases/create-kafka.ts'
import { kinesisAccepted, kinesisRefused } from '../../test/pipe-cases/create-kinesis.ts'
import { objectStorageAccepted, objectStorageRefused } from '../../test/pipe-cases/create-object-storage.ts'
import { postgresAccepted, postgresRefused } from '../../test/pipe-cases/create-postgres.ts'
import { type Accepted, type Change, iamRole, login, type Refused } from '../../test/pipe-cases/create-source.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { openSecrets } from './store.ts'

const accepted: Accepted[] = [...kafkaAccepted, ...kinesisAccepted, ...objectStorageAccepted, ...postgresAccepted]
const refused: Refused[] = [...kafkaRefused, ...kinesisRefused, ...objectStorageRefused, ...postgresRefused]

onBothDatabases('createPipe with a source', (app) => {
  let service: ServiceOfPipes
  before(async () => {
    service = await serviceOfPipes(app())
  })
  const answers: string[] = []

  const bodyOf = (kind: SourceKindName, change: Change): Json =>
    Object.entries(change).reduce(
      (body, [field, value]) => withField(body, `source.${kind}.${field}`, value),
      leastPipes[kind],
    )

  describe('200', () => {
    for (const { title, kind, change, added = {}, shown = {}, secrets } of accepted) {
      it(`${kind}: ${title}`, async () => {
        const body = bodyOf(kind, change)
        const pipe = await service.create(body)
        const { credentials: _, accessKey: __, ...sent } = (body.source as Record<string, Json>)[kind]!
        const defaults =
          kind === 'kafka'
            ? { consumerGroup: `penstock-${pipe.id}`, offset: { strategy: 'from_beginning' }, ...added }
            : added
        assert.deepEqual((pipe.source as Json)[kind], { ...defaults, ...sent, ...shown })
        if (secrets) assert.deepEqual(openSecrets(app().app.vault, await service.load(pipe.id)), secrets)

        const read = await service.send('GET', `/${pipe.id}`)
        assert.deepEqual(read.body.result, pipe)
        const back = await service.send('PATCH', `/${pipe.id}`, read.body.result)
        assert.equal(back.status, 200, back.text)
        assert.equal(back.headers.etag, read.headers.etag)
        answers.push(read.text, back.text, JSON.stringify(pipe))
      })
    }

    it('does not show that the initial load of a queue is not skipped', async () => {
      const queue = { iamRole, isContinuous: true, queueUrl: 'https://sqs.example/000000000000/invoices' }
      for (const change of [{ ...queue, skipInitialLoad: false }, { skipInitialLoad: false }]) {
        const { source } = await service.create(bodyOf('objectStorage', change))
        assert.ok(!('skipInitialLoad' in (source as { objectStorage: Json }).objectStorage))
      }
    })

    it('keeps the credentials of a schema registry when the others change', async () => {
      const registry = { url: 'https://registry.example', credentials: login }
      const { id } = await service.create(bodyOf('kafka', { schemaRegistry: registry }))
      const credentials = { password: 'hush-new' }
      assert.equal((await service.send('PATCH', `/${id}`, { source: { kafka: { credentials } } })).status, 200)
      assert.deepEqual(openSecrets(app().app.vault, await service.load(id)), {
        credentials: { ...login, ...credentials },
        schemaRegistry: login,
      })
      const wrong = await service.send('PATCH', `/${id}`, { source: { kafka: { schemaRegistry: registry } } })
      assert.equal(wrong.status, 400)
      answers.push(wrong.text)
    })
  })

  describe('400', () => {
    for (const { title, kind, change, fields, says } of refused) {
      it(`${kind}: ${title}`, async () => {
        const answer = await service.send('POST', '', bodyOf(kind, change))
        answers.push(answer.text)
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.code, 'invalid_body')
        const pointers = fields.map((field) => `#/source/${kind}/${field.replaceAll('.', '/')}`)
        assert.deepEqual(pointersOf(answer), pointers.sort())
        if (says) assert.match(answer.body.detail, says)
      })
    }
  })

  describe('secrets', () => {
    it('are in no answer, no line of the log, no activity and no row', async () => {
      assert.ok(answers.length > 200)
      const rows = [await app().query('SELECT * FROM pipes'), await app().query('SELECT * FROM activities')]
      assert.doesNotMatch(JSON.stringify([answers, rows, app().logged]), /hush/)
    })
  })
})
