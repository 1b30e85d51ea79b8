// Shared helpers for tests of pipe operations.
import assert from 'node:assert/strict'
import type { StoredPipe } from '../../src/pipes/pipe.ts'
import { findPipe } from '../../src/pipes/store.ts'
import type { SourceKindName } from '../../src/source-shapes/source-kind.ts'
import type { Key, RequestOptions, TestApp, TestResponse } from './test-app.ts'

export type Json = Record<string, unknown>

export const kinds: SourceKindName[] = ['kafka', 'kinesis', 'objectStorage', 'postgres']

export interface PipeTools {
  /** Texts of all answers to `patch`, to be searched for secrets. */
  answers: string[]
  path(pipeId: string): string
  /** The stored pipe. */
  load(pipeId: string): Promise<StoredPipe>
  /** Sends a change of the source; a refusal includes the invalid fields. */
  patch(pipeId: string, source: unknown, more?: object): Promise<TestResponse>
}

export function pipeTools(app: () => TestApp, kind: SourceKindName): PipeTools {
  const answers: string[] = []
  const path = (pipeId: string) =>
    `/v1/organizations/${app().sample.organizationId}/services/${app().sample.serviceId}/pipes/${pipeId}`
  return {
    answers,
    path,
    load: async (pipeId) => {
      const { organizationId, serviceId } = app().sample
      return (await findPipe(app().sql, { organizationId, serviceId, pipeId }))!
    },
    patch: async (pipeId, source, more = {}) => {
      const answer = await app().request('PATCH', path(pipeId), {
        body: { source: { [kind]: source }, ...more },
        headers: { accept: 'application/problem+json' },
      })
      answers.push(answer.text)
      return answer
    },
  }
}

export interface ServiceOfPipes {
  organizationId: string
  serviceId: string
  admin: Key
  /** Path relative to the list of pipes: `''` is the list, `/<id>/state` the state of one. */
  send(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<TestResponse>
  /** Creates a pipe and returns it. */
  create(body: object): Promise<Json & { id: string }>
  load(pipeId: string): Promise<StoredPipe>
  activities(): Promise<{ type: string; target: Json; changes: Json[]; request_id: string }[]>
}

/** Creates a service in a new organization, without pipes. */
export async function serviceOfPipes(app: TestApp): Promise<ServiceOfPipes> {
  const { organizationId, serviceId, admin } = await app.addOrganization()
  const send: ServiceOfPipes['send'] = (method, path, body, options = {}) =>
    app.request(method, `/v1/organizations/${organizationId}/services/${serviceId}/pipes${path}`, {
      key: admin,
      ...(body === undefined ? {} : { body }),
      ...options,
      headers: { accept: 'application/problem+json', ...options.headers },
    })
  return {
    organizationId,
    serviceId,
    admin,
    send,
    create: async (body) => {
      const answer = await send('POST', '', body)
      assert.equal(answer.status, 200, answer.text)
      return answer.body.result
    },
    load: async (pipeId) => (await findPipe(app.sql, { organizationId, serviceId, pipeId }))!,
    activities: async () => {
      const rows = await app.query<{ type: string; target: string; changes: string; request_id: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
      return rows.map(({ type, target, changes, request_id }) => ({
        type,
        request_id,
        target: JSON.parse(target),
        changes: JSON.parse(changes),
      }))
    },
  }
}

export const pointersOf = (answer: TestResponse): string[] =>
  (answer.body.errors ?? []).map((error: { pointer: string }) => error.pointer).sort()

/** A copy with the value at the path (`source.kafka.type`, `destination.columns.0.name`); undefined removes the field. */
export function withField<Value>(object: Value, path: string, value: unknown): Value {
  const copy = structuredClone(object)
  const keys = path.split('.')
  const last = keys.pop()!
  let parent = copy as Json
  for (const key of keys) {
    parent[key] ??= {}
    parent = parent[key] as Json
  }
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

const destination = {
  database: 'analytics',
  table: 'orders',
  columns: [{ name: 'order_id', type: 'UInt64' }],
  tableDefinition: { engine: { type: 'MergeTree' } },
}

/** Minimal creation body of each kind. */
export const leastPipes: Record<SourceKindName, Json> = {
  kafka: {
    name: 'orders',
    source: {
      kafka: {
        type: 'kafka',
        format: 'JSONEachRow',
        brokers: 'broker:9092',
        topics: 'orders',
        authentication: 'PLAIN',
        credentials: { username: 'hush-user', password: 'hush-password' },
      },
    },
    destination,
  },
  kinesis: {
    name: 'clicks',
    source: {
      kinesis: {
        format: 'JSONEachRow',
        iteratorType: 'LATEST',
        region: 'eu-west-1',
        streamName: 'clicks',
        authentication: 'IAM_ROLE',
        iamRole: 'arn:aws:iam::000000000000:role/penstock',
      },
    },
    destination,
  },
  objectStorage: {
    name: 'invoices',
    source: { objectStorage: { type: 's3', format: 'JSONEachRow', url: 'https://bucket.s3.example/*.json' } },
    destination,
  },
  postgres: {
    name: 'shop',
    source: {
      postgres: {
        host: 'db.northwind.example',
        database: 'shop',
        credentials: { username: 'hush-user', password: 'hush-password' },
        tableMappings: [{ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }],
      },
    },
    destination: { database: 'analytics' },
  },
}
