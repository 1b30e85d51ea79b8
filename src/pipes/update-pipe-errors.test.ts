// Refused updates of a pipe of any kind: 400, 404 and 412.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import {
  columns,
  fields,
  immutable,
  type Json,
  kinds,
  type Refused,
  unknownId,
  wrongTypes,
} from '../../test/pipe-cases/update-fields.ts'
import { at, merge, pipeUpdates, short } from '../../test/pipe-cases/update-pipe.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { findPipe } from './store.ts'

const pointer = (path: string, inside?: string) =>
  `#/${path.replaceAll('.', '/')}${inside === undefined ? '' : `/${inside}`}`

onBothDatabases('updatePipe', (app) => {
  const { key, path, get, patch, addPipe, activities } = pipeUpdates(app)

  interface Refusal {
    code: string
    detail: string
    pointers: string[]
  }

  async function patchForProblem(pipeId: string, body: unknown): Promise<Refusal> {
    const answer = await patch(pipeId, body, { accept: 'application/problem+json' })
    assert.equal(answer.status, 400, `${short(body)} is accepted`)
    const { code, detail, errors } = answer.body
    return { code, detail, pointers: errors.map((error: { pointer: string }) => error.pointer).sort() }
  }

  /** Checks that the update is rejected and nothing has changed. */
  async function refuse(pipeId: string, body: unknown): Promise<Refusal> {
    const before = await get(pipeId)
    const refusal = await patchForProblem(pipeId, body)
    const after = await get(pipeId)
    assert.deepEqual(after.body.result, before.body.result)
    assert.equal(after.headers.etag, before.headers.etag)
    return refusal
  }

  describe('400', () => {
    for (const { kind, path: field, type, refused, afterNull, alongside = {} } of fields) {
      it(`${field}: out of bounds, of the wrong type${afterNull ? '' : ', null'}`, async () => {
        const pipeId = await addPipe(kind)
        const before = await get(pipeId)
        const values = [...refused, ...wrongTypes[type].map((value): Refused => [value])]
        if (!afterNull) values.push([null])
        for (const [value, inside] of values) {
          const answer = await patchForProblem(pipeId, merge(alongside, at(field, value)))
          assert.equal(answer.code, 'invalid_body', `${short(value)}: ${answer.detail}`)
          assert.deepEqual(answer.pointers, [pointer(field, inside)], `${short(value)}: ${answer.detail}`)
        }
        const after = await get(pipeId)
        assert.deepEqual(after.body.result, before.body.result)
        assert.equal(after.headers.etag, before.headers.etag)
      })
    }

    it('has nothing to update', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const body of [
          {},
          { source: {} },
          { settings: {} },
          { destination: {} },
          { settings: {}, destination: {}, source: { [kind]: {} } },
          { source: { [kind]: kind === 'postgres' ? { settings: {}, credentials: {} } : {} } },
        ]) {
          assert.equal((await refuse(pipeId, body)).code, 'nothing_to_update', `${kind}: ${JSON.stringify(body)}`)
        }
        const { body, status } = await patch(pipeId, {})
        assert.deepEqual(body, {
          error: 'BAD_REQUEST: the body has nothing to update; send at least one field that can be updated',
          status,
        })
      }
    })

    it('refuses null in the place of an object', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const field of ['destination', 'settings', 'source', `source.${kind}`, 'source.validateSamples']) {
          assert.deepEqual((await refuse(pipeId, at(field, null))).pointers, [pointer(field)])
        }
      }
      assert.deepEqual((await refuse(await addPipe('postgres'), at('source.postgres.settings', null))).pointers, [
        '#/source/postgres/settings',
      ])
    })

    it('refuses a body that is not an object', async () => {
      const pipeId = await addPipe()
      for (const body of [null, [], 'name', 5]) assert.equal((await refuse(pipeId, body)).code, 'invalid_body')
    })

    it('refuses unknown fields', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const field of [
          'nmae',
          'destination.colums',
          'settings.engine_max_thread',
          'source.rabbitmq',
          `source.${kind}.colour`,
          'source.postgres.settings.colour',
        ]) {
          const { code, pointers, detail } = await refuse(pipeId, at(field, 'a'))
          assert.equal(code, 'invalid_body')
          assert.deepEqual(pointers, [pointer(field)])
          assert.match(detail, /is not a known field/)
        }
      }
    })

    for (const kind of kinds) {
      it(`refuses another kind of source on a ${kind} pipe`, async () => {
        const pipeId = await addPipe(kind)
        const others: Record<SourceKindName, Json> = {
          kafka: { iamRole: 'a' },
          kinesis: { iamRole: 'a' },
          objectStorage: { path: 'a' },
          postgres: { port: 1 },
        }
        for (const other of kinds.filter((each) => each !== kind)) {
          for (const body of [at(`source.${other}`, others[other]), { name: 'a', source: { [other]: {} } }]) {
            const { code, pointers, detail } = await refuse(pipeId, body)
            assert.equal(code, 'invalid_body')
            assert.deepEqual(pointers, [pointer(`source.${other}`)])
            assert.match(detail, new RegExp(`source.${other} is invalid: this is a ${kind} pipe`))
          }
        }
      })

      it(`refuses another value, or null, for each field of a ${kind} pipe that cannot be changed`, async () => {
        const pipeId = await addPipe(kind)
        const before = (await get(pipeId)).body.result
        for (const [field, other] of immutable.filter(([, , only]) => (only ?? kind) === kind)) {
          for (const value of [other, null]) {
            const body = { ...at(field, value), settings: { engine_max_threads: 9 } }
            const { code, pointers, detail } = await patchForProblem(pipeId, body)
            assert.equal(code, 'invalid_body')
            assert.ok(pointers.length > 0 && pointers.every((each) => each.startsWith(pointer(field))), detail)
            assert.match(detail, new RegExp(`^${field.replaceAll('.', '\\.')}\\S* cannot be changed`))
            const isOfCreation = /^(?:source|destination)\./.test(field) && !field.endsWith('.tableMappings')
            assert.equal(detail.endsWith('; create another pipe with it'), isOfCreation, detail)
          }
        }
        assert.deepEqual((await get(pipeId)).body.result, before)
      })

      it(`has every field of a ${kind} pipe in the tables of these tests`, async () => {
        const known = [...fields.map((field) => field.path), ...immutable.map(([field]) => field)]
        const isKnown = (field: string) => known.some((each) => field === each || field.startsWith(`${each}.`))
        const visit = (value: unknown, parent: string): void => {
          for (const [name, inner] of Object.entries(value as Json)) {
            const field = parent === '' ? name : `${parent}.${name}`
            if (isKnown(field)) continue
            assert.ok(
              typeof inner === 'object' && !Array.isArray(inner),
              `no test has ${field}: add it to test/pipe-cases`,
            )
            visit(inner, field)
          }
        }
        visit((await get(app().sample.pipeIds[kind])).body.result, '')
      })
    }

    it('refuses to drop a column that is mapped', async () => {
      const pipeId = await addPipe()
      const { pointers, detail } = await refuse(pipeId, {
        destination: { columns: [{ name: 'order_id', type: 'UInt64' }] },
      })
      assert.deepEqual(pointers, ['#/fieldMappings/0/destinationField'])
      assert.match(detail, /names "customer", which is not one of the destination's columns/)
      assert.deepEqual((await refuse(pipeId, { destination: { columns: [] } })).pointers, [
        '#/fieldMappings/0/destinationField',
      ])
    })

    it('applies nothing when one field is wrong', async () => {
      for (const wrong of [
        { settings: { engine_max_threads: 65 } },
        { fieldMappings: [{ destinationField: 'nowhere', sourceField: 'a' }] },
        { source: { kafka: { credentials: null } } },
        { source: { kinesis: { iamRole: 'a' } } },
        { source: { kafka: { iamRole: 'arn:aws:iam::1:role/a' }, validateSamples: true } },
        { state: 'Running' },
      ]) {
        const pipeId = await addPipe()
        const before = await findPipe(app().sql, key(pipeId))
        await refuse(pipeId, merge({ name: 'not applied', destination: { columns } }, wrong))
        assert.deepEqual(await findPipe(app().sql, key(pipeId)), before)
        assert.deepEqual(await activities(pipeId), [])
      }
    })

    it('reports all invalid fields at once, with those that cannot be changed', async () => {
      const { pointers } = await refuse(await addPipe(), {
        id: unknownId,
        name: '',
        destination: { columns: [{ name: 'a', type: '' }], table: 'other' },
        settings: { engine_max_threads: 65, nope: 1 },
        source: { kafka: { caCertificate: 'x', topics: 'other', credentials: { password: '' } } },
      })
      assert.deepEqual(pointers, [
        '#/destination/columns/0/type',
        '#/destination/table',
        '#/id',
        '#/name',
        '#/settings/engine_max_threads',
        '#/settings/nope',
        '#/source/kafka/caCertificate',
        '#/source/kafka/credentials/password',
        '#/source/kafka/topics',
      ])
    })

    it('reports all rules that the merged pipe breaks at once', async () => {
      const { pointers } = await refuse(await addPipe(), {
        destination: { columns: [...columns, columns[1]] },
        fieldMappings: [{ destinationField: 'nowhere', sourceField: 'a' }],
        source: { kafka: { authentication: 'IAM_ROLE', iamRole: null }, kinesis: { iamRole: 'a' } },
      })
      assert.deepEqual(pointers, [
        '#/destination/columns/2/name',
        '#/fieldMappings/0/destinationField',
        '#/source/kafka/iamRole',
        '#/source/kinesis',
      ])
    })

    it('reports fields that cannot be changed together with the rules that the merged pipe breaks', async () => {
      const { pointers } = await refuse(await addPipe(), {
        state: 'Running',
        fieldMappings: [{ destinationField: 'nowhere', sourceField: 'a' }],
      })
      assert.deepEqual(pointers, ['#/fieldMappings/0/destinationField', '#/state'])
    })

    it('validates samples on request, and reports a source that cannot be reached', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const body of [{ source: { validateSamples: true } }, { name: 'a', source: { validateSamples: true } }]) {
          const { code, pointers, detail } = await refuse(pipeId, body)
          assert.equal(code, 'source_not_validated')
          assert.match(pointers.join(), new RegExp(`^#/source/${kind}/`))
          assert.match(detail, /the step "connect" failed: /)
        }
        for (const value of ['true', 1, null]) {
          assert.deepEqual((await refuse(pipeId, at('source.validateSamples', value))).pointers, [
            '#/source/validateSamples',
          ])
        }
      }
    })

    it('refuses an If-Match that is not one', async () => {
      const pipeId = await addPipe()
      assert.equal((await patch(pipeId, { name: 'a' }, { 'if-match': '1' })).status, 400)
    })
  })

  describe('404', () => {
    it('does not find a pipe that is not there, is in another service or in another organization', async () => {
      const pipeId = await addPipe()
      const { organizationId, serviceId } = app().sample
      const other = await app().addOrganization()
      const secondService = await app().addService(organizationId)
      for (const [request, sentence, caller] of [
        [path(unknownId), `pipe ${unknownId} was not found in service ${serviceId}`],
        [path(pipeId, { ...key(pipeId), serviceId: secondService }), `pipe ${pipeId} was not found in service`],
        [path(pipeId, { ...key(pipeId), serviceId: unknownId }), `service ${unknownId} was not found in organization`],
        [path(pipeId), `organization ${organizationId} was not found`, other.admin],
        [path(pipeId, { ...key(pipeId), ...other }), `pipe ${pipeId} was not found in service`, other.admin],
      ] as const) {
        for (const body of [{ name: 'stolen' }, { name: 'stolen', state: 'Running' }]) {
          const { status, body: answer } = await app().request('PATCH', request, { key: caller ?? app().admin, body })
          assert.equal(status, 404)
          assert.ok(answer.error.startsWith(`NOT_FOUND: ${sentence}`), answer.error)
        }
      }
      assert.notEqual((await get(pipeId)).body.result.name, 'stolen')
    })
  })

  describe('412', () => {
    it('changes nothing when the pipe has changed since it was read', async () => {
      const pipeId = await addPipe()
      const { etag } = (await get(pipeId)).headers
      assert.equal((await patch(pipeId, { name: 'first' })).status, 200)
      for (const ifMatch of [String(etag), `W/${(await get(pipeId)).headers.etag}`, '"other"']) {
        const { status, body } = await patch(pipeId, { name: 'second' }, { 'if-match': ifMatch })
        assert.equal(status, 412)
        assert.match(body.error, /^PRECONDITION_FAILED: If-Match does not match/)
      }
      assert.equal((await get(pipeId)).body.result.name, 'first')
      assert.equal((await activities(pipeId)).length, 1)
    })

    it('is the answer also to a whole pipe that was read before the change', async () => {
      const pipeId = await addPipe()
      const stale = await get(pipeId)
      await sleep(2)
      assert.equal((await patch(pipeId, { name: 'first' })).status, 200)
      const body = { ...stale.body.result, name: 'second' }
      const answer = await patch(pipeId, body, { 'if-match': String(stale.headers.etag) })
      assert.equal(answer.status, 412, answer.text)
    })

    it('lets one of several that read the same win', async () => {
      const pipeId = await addPipe()
      const { etag } = (await get(pipeId)).headers
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          patch(pipeId, { name: `writer ${index}` }, { 'if-match': String(etag) }),
        ),
      )
      const won = answers.filter(({ status }) => status === 200)
      assert.equal(won.length, 1)
      assert.equal(answers.filter(({ status }) => status === 412).length, 9)
      assert.equal((await get(pipeId)).body.result.name, won[0]!.body.result.name)
    })
  })
})
