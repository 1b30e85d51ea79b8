// Updating a pipe of any kind: each field set, null and absent, fields that cannot be changed, all or nothing, no-ops, activities,
// concurrency. The rules of each kind of source are in update-pipe-<kind>.test.ts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { basic, onBothDatabases } from '../../test/harness/test-app.ts'
import { columns, fields, immutable, type Json, kinds, pem, settings } from '../../test/pipe-cases/update-fields.ts'
import { at, merge, pipeUpdates } from '../../test/pipe-cases/update-pipe.ts'
import { openApp } from '../app.ts'
import { Log } from '../lib/log.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { findPipe, openSecrets } from './store.ts'

function read(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inside, key) => (inside as Json)?.[key], object)
}

/** A copy with one leaf changed, or without it. */
function replace(object: Json, path: string, value: unknown): Json {
  const copy = structuredClone(object)
  const keys = path.split('.')
  const last = keys.pop()!
  const parent = keys.reduce<Json>((inside, key) => inside[key] as Json, copy)
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

onBothDatabases('updatePipe', (app) => {
  const { key, path, get, patch, addPipe, activities, accept } = pipeUpdates(app)

  describe('200', () => {
    for (const { kind, path: field, set, afterNull, alongside = {} } of fields) {
      it(`${field}: set, absent${afterNull ? ', null' : ''}`, async () => {
        const pipeId = await addPipe(kind)
        const expectOnly = (before: Json, after: Json, value: unknown) =>
          assert.deepEqual({ ...after, updatedAt: '' }, { ...replace(before, field, value), updatedAt: '' })

        let pipe: Json = (await get(pipeId)).body.result
        for (const value of set) {
          const after = await accept(pipeId, merge(alongside, at(field, value)))
          expectOnly(pipe, after, value)
          pipe = after
        }
        const other = field === 'name' ? { settings: { engine_max_threads: 7 } } : { name: 'something else' }
        const untouched = await accept(pipeId, other)
        assert.deepEqual(read(untouched, field), set.at(-1))

        if (!afterNull) return
        expectOnly(untouched, await accept(pipeId, merge(alongside, at(field, null))), afterNull.value)
      })
    }

    it('answers with the envelope', async () => {
      const { body, headers } = await patch(await addPipe(), { name: 'renamed' })
      assert.deepEqual(Object.keys(body).sort(), ['requestId', 'result', 'status'])
      assert.equal(body.status, 200)
      assert.equal(body.requestId, headers['x-request-id'])
    })

    it('takes a merge patch by its own media type', async () => {
      const pipeId = await addPipe()
      const answer = await patch(pipeId, { name: 'renamed' }, { 'content-type': 'application/merge-patch+json' })
      assert.equal(answer.status, 200)
      assert.equal(answer.body.result.name, 'renamed')
    })

    it('changes several fields at once', async () => {
      const pipeId = await addPipe()
      const before = (await get(pipeId)).body.result
      const after = await accept(pipeId, {
        name: 'renamed',
        destination: { columns },
        fieldMappings: [{ destinationField: 'größe', sourceField: 'size' }],
        settings: { engine_max_threads: 8, engine_parallel_view_processing: true },
        source: { validateSamples: false, kafka: { caCertificate: null, reversePrivateEndpointIds: [] } },
      })
      const { caCertificate: _, ...kafka } = before.source.kafka
      assert.deepEqual(after, {
        ...before,
        updatedAt: after.updatedAt,
        name: 'renamed',
        destination: { ...before.destination, columns },
        fieldMappings: [{ destinationField: 'größe', sourceField: 'size' }],
        settings: { ...before.settings, engine_max_threads: 8, engine_parallel_view_processing: true },
        source: { kafka: { ...kafka, reversePrivateEndpointIds: [] } },
      })
    })

    it('takes every setting on every kind of pipe', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        const all = Object.fromEntries(
          settings.map(([name, least, most, standard]) => [name, least === standard ? most : least]),
        )
        assert.deepEqual((await accept(pipeId, { settings: all })).settings, all)
        const nulls = Object.fromEntries(settings.map(([name]) => [name, null]))
        const standards = Object.fromEntries(settings.map(([name, , , standard]) => [name, standard]))
        assert.deepEqual((await accept(pipeId, { settings: nulls })).settings, standards)
      }
    })

    it('checks mappings against the columns that come with them', async () => {
      const pipeId = await addPipe()
      await accept(pipeId, {
        destination: { columns: [{ name: 'only', type: 'String' }] },
        fieldMappings: [{ destinationField: 'only', sourceField: 'a' }],
      })
      const empty = await accept(pipeId, { destination: { columns: [] }, fieldMappings: [] })
      assert.deepEqual((empty.destination as Json).columns, [])
      assert.deepEqual(empty.fieldMappings, [])
    })

    for (const kind of kinds) {
      it(`takes back a whole ${kind} pipe as it was read, and changes nothing`, async () => {
        const pipeId = await addPipe(kind)
        const before = await get(pipeId)
        const answer = await patch(pipeId, before.body.result)
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result, before.body.result)
        assert.equal(answer.headers.etag, before.headers.etag)
        assert.deepEqual(await activities(pipeId), [])
      })

      it(`takes back a whole ${kind} pipe with one field edited, and changes that field`, async () => {
        const pipeId = await addPipe(kind)
        const before = (await get(pipeId)).body.result
        const after = await accept(pipeId, { ...before, name: 'edited' })
        assert.deepEqual({ ...after, updatedAt: '' }, { ...before, name: 'edited', updatedAt: '' })
      })
    }

    it('takes each field that cannot be changed with the value that it has', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        let pipe: Json = (await get(pipeId)).body.result
        for (const [index, [field]] of immutable.filter(([, , only]) => (only ?? kind) === kind).entries()) {
          const answer = await patch(pipeId, { ...at(field, read(pipe, field)), name: `change ${index}` })
          assert.equal(answer.status, 200, `${field}: ${answer.text}`)
          pipe = answer.body.result
          assert.equal(pipe.name, `change ${index}`)
        }
      }
    })

    it('leaves updatedAt, ETag and activities alone when nothing changes', async () => {
      const same: [SourceKindName, (pipe: Json) => Json][] = [
        ['kafka', ({ name }) => ({ name })],
        ['kafka', ({ destination }) => ({ destination: { columns: (destination as Json).columns } })],
        ['kafka', ({ fieldMappings }) => ({ fieldMappings })],
        ['kafka', () => ({ settings: { streaming_max_insert_wait_ms: 5000 } })],
        ['kafka', () => ({ settings: { streaming_max_insert_wait_ms: null, engine_max_threads: null } })],
        ['kafka', () => ({ source: { validateSamples: false } })],
        ['kafka', () => ({ source: { kafka: { reversePrivateEndpointIds: ['rpe-orders-1'] } } })],
        ['kafka', () => ({ source: { kafka: { credentials: { password: 'sample-password' } } } })],
        ['kinesis', () => ({ source: { kinesis: { accessKey: null } } })],
        ['objectStorage', () => ({ source: { objectStorage: { accessKey: null, path: 'invoices/**.json' } } })],
        ['postgres', () => ({ source: { postgres: { tableMappingsToAdd: [], tableMappingsToRemove: [] } } })],
        ['postgres', () => ({ source: { postgres: { settings: { pullBatchSize: null } }, validateSamples: false } })],
      ]
      for (const [kind, body] of same) {
        const pipeId = await addPipe(kind)
        const before = await get(pipeId)
        await sleep(2)
        const answer = await patch(pipeId, body(before.body.result))
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result, before.body.result)
        assert.equal(answer.headers.etag, before.headers.etag)
        assert.equal((await get(pipeId)).headers.etag, before.headers.etag)
        assert.deepEqual(await activities(pipeId), [])
      }
    })

    it('moves updatedAt and ETag with every change, and createdAt never', async () => {
      const pipeId = await addPipe()
      let before = await get(pipeId)
      for (const body of [
        { name: 'renamed' },
        { settings: { engine_max_threads: 8 } },
        { source: { kafka: { credentials: { password: 'another-password' } } } },
      ]) {
        await sleep(2)
        const answer = await patch(pipeId, body)
        assert.ok(answer.body.result.updatedAt > before.body.result.updatedAt, answer.text)
        assert.match(answer.body.result.updatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.notEqual(answer.headers.etag, before.headers.etag)
        assert.equal(answer.body.result.createdAt, before.body.result.createdAt)
        before = await get(pipeId)
        assert.equal(before.headers.etag, answer.headers.etag)
      }
    })

    it('records one activity, with the fields that changed and a secret only as changed', async () => {
      const pipeId = await addPipe()
      const { result } = (await get(pipeId)).body
      const answer = await patch(pipeId, {
        name: 'renamed',
        fieldMappings: [],
        settings: { engine_max_threads: 8, engine_max_insert_threads: null },
        source: { kafka: { caCertificate: null, credentials: { username: 'someone', password: 'another-password' } } },
      })
      assert.equal(answer.status, 200)
      const [activity, ...others] = await activities(pipeId)
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'pipe_updated')
      assert.equal(activity!.request_id, answer.body.requestId)
      assert.deepEqual(JSON.parse(activity!.target), {
        type: 'pipe',
        id: pipeId,
        serviceId: app().sample.serviceId,
      })
      const changes = JSON.parse(activity!.changes) as { field: string }[]
      assert.deepEqual(
        changes.sort((one, two) => one.field.localeCompare(two.field)),
        [
          { field: 'fieldMappings', from: result.fieldMappings, to: [] },
          { field: 'name', from: result.name, to: 'renamed' },
          { field: 'settings.engine_max_threads', from: 0, to: 8 },
          { field: 'source.kafka.caCertificate', from: result.source.kafka.caCertificate },
          { field: 'source.kafka.credentials', to: 'changed' },
        ],
      )
    })

    it('keeps every one of the changes of different fields that are made at the same time', async () => {
      const pipeId = await addPipe()
      const sample = (await get(pipeId)).body.result
      const kafka = { caCertificate: pem, iamRole: 'arn:aws:iam::1:role/new', reversePrivateEndpointIds: ['a', 'b'] }
      const newColumns = [...sample.destination.columns, { name: 'added', type: 'String' }]
      const newMappings = [{ destinationField: 'order_id', sourceField: 'id' }]
      const newSettings = settings.map(([name, least, most, standard]) => [name, least === standard ? most : least])
      const bodies = [
        { name: 'all together' },
        { destination: { columns: newColumns } },
        { fieldMappings: newMappings },
        ...newSettings.map(([name, value]) => at(`settings.${name}`, value)),
        ...Object.entries(kafka).map(([name, value]) => at(`source.kafka.${name}`, value)),
        at('source.kafka.credentials.username', 'new-user'),
        at('source.kafka.credentials.password', 'new-password'),
      ]
      // With PostgreSQL there may be several processes, which only row locks separate.
      const log = new Log('silent', { write: () => true } as unknown as NodeJS.WritableStream)
      const second =
        app().dialect === 'postgres'
          ? await openApp(app().config, { log, mayCreateKeys: false, onFatal: () => undefined })
          : undefined
      const headers = { authorization: basic(app().admin), 'content-type': 'application/json' }
      const answers = await Promise.all(
        bodies.map(async (body, index) => {
          if (!second || index % 2 === 0) return patch(pipeId, body)
          const payload = JSON.stringify(body)
          const answer = await second.server.inject({ method: 'PATCH', url: path(pipeId), headers, payload })
          return { status: answer.statusCode, headers: answer.headers, text: answer.payload }
        }),
      ).finally(() => second?.close())
      for (const { status, text } of answers) assert.equal(status, 200, text)
      assert.equal(new Set(answers.map(({ headers }) => headers.etag)).size, bodies.length)

      const { result } = (await get(pipeId)).body
      assert.equal(result.name, 'all together')
      assert.deepEqual(result.destination.columns, newColumns)
      assert.deepEqual(result.fieldMappings, newMappings)
      assert.deepEqual(result.settings, Object.fromEntries(newSettings))
      for (const [name, value] of Object.entries(kafka)) assert.deepEqual(result.source.kafka[name], value)
      const stored = (await findPipe(app().sql, key(pipeId)))!
      assert.deepEqual(openSecrets(app().app.vault, stored), {
        credentials: { username: 'new-user', password: 'new-password' },
      })
      assert.equal((await activities(pipeId)).length, bodies.length)
    })

    it('honours If-Match', async () => {
      const pipeId = await addPipe()
      const { etag } = (await get(pipeId)).headers
      const first = await patch(pipeId, { name: 'first' }, { 'if-match': String(etag) })
      assert.equal(first.status, 200)
      const either = await patch(pipeId, { name: 'second' }, { 'if-match': `"other", ${first.headers.etag}` })
      assert.equal(either.status, 200)
      assert.equal((await patch(pipeId, { name: 'third' }, { 'if-match': '*' })).status, 200)
    })
  })

  describe('401 and 403', () => {
    it('asks for a key, and for the role admin, before it looks at the body', async () => {
      const pipeId = await addPipe()
      const before = (await get(pipeId)).body.result
      for (const body of [{ name: 'a' }, { name: '' }]) {
        assert.equal((await app().request('PATCH', path(pipeId), { key: null, body })).status, 401)
        const { status, text } = await app().request('PATCH', path(pipeId), { key: app().developer, body })
        assert.equal(status, 403)
        assert.match(text, /needs a key with the role admin/)
      }
      assert.deepEqual((await get(pipeId)).body.result, before)
    })
  })
})
