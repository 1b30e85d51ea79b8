// Updates of a pipe, and checks of their answers.
import assert from 'node:assert/strict'
import { newId } from '../../src/lib/id.ts'
import { findPipe, insertPipe, openSecrets, sealSecrets } from '../../src/pipes/store.ts'
import type { SourceKindName } from '../../src/source-shapes/source-kind.ts'
import type { TestApp } from '../harness/test-app.ts'
import type { Json } from './update-fields.ts'

/** `at('a.b', 1)` → `{a: {b: 1}}` */
export function at(path: string, value: unknown): Json {
  return path.split('.').reduceRight<unknown>((inside, key) => ({ [key]: inside }), value) as Json
}

export function merge(one: Json, two: Json): Json {
  const merged = { ...one }
  for (const [key, value] of Object.entries(two)) {
    merged[key] = key in merged ? merge(merged[key] as Json, value as Json) : value
  }
  return merged
}

export const short = (value: unknown) => (JSON.stringify(value) ?? '').slice(0, 60)

export function pipeUpdates(app: () => TestApp) {
  const key = (pipeId: string) => ({
    organizationId: app().sample.organizationId,
    serviceId: app().sample.serviceId,
    pipeId,
  })
  const path = (pipeId: string, { organizationId, serviceId } = key(pipeId)) =>
    `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeId}`
  const get = (pipeId: string) => app().request('GET', path(pipeId))
  const patch = (pipeId: string, body: unknown, headers: Record<string, string> = {}) =>
    app().request('PATCH', path(pipeId), { body, headers })

  /** Copies a sample pipe under another id. */
  async function addPipe(kind: SourceKindName = 'kafka'): Promise<string> {
    const { vault } = app().app
    const sample = (await findPipe(app().sql, key(app().sample.pipeIds[kind])))!
    const pipe = { ...sample, id: newId() }
    await insertPipe(app().sql, { ...pipe, sealedSecrets: sealSecrets(vault, pipe, openSecrets(vault, sample)) })
    return pipe.id
  }

  interface ActivityRow {
    type: string
    target: string
    changes: string
    request_id: string
  }
  const activities = async (pipeId: string) =>
    (await app().query<ActivityRow>('SELECT type, target, changes, request_id FROM activities ORDER BY id')).filter(
      ({ target }) => target.includes(pipeId),
    )

  /** Checks that the update is accepted and a GET returns the same pipe. */
  async function accept(pipeId: string, body: unknown): Promise<Json> {
    const answer = await patch(pipeId, body)
    assert.equal(answer.status, 200, `${short(body)}: ${answer.text}`)
    const { body: after, headers } = await get(pipeId)
    assert.deepEqual(after.result, answer.body.result)
    assert.equal(headers.etag, answer.headers.etag)
    return answer.body.result
  }

  return { key, path, get, patch, addPipe, activities, accept }
}
