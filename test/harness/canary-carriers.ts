// S4: the request bodies with secret fields, and how they fail.
import { randomBase62 } from '../../src/lib/id.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { findPipe, openSecrets } from '../../src/pipes/store.ts'
import { passwordContext } from '../../src/services/service.ts'
import { findService } from '../../src/services/store.ts'
import type { SourceKindName } from '../../src/source-shapes/source-kind.ts'
import { type Canaries, merged, type Slot, slots } from './canary.ts'
import { type Json, kinds, leastPipes, withField } from './pipes.ts'
import type { Key, RequestOptions, TestApp } from './test-app.ts'

/** A body with secret fields. */
export interface Carrier {
  operation: AnyOperation
  slots: Slot[]
  /** Accepted once its secret fields are filled. */
  base: Json
  kind?: SourceKindName
  /** Stores nothing: the secrets are used to connect to a source that does not exist. */
  connects?: true
}

export const kindOf = ({ path }: Slot): SourceKindName => path[path.indexOf('source') + 1] as SourceKindName

interface NewPipe {
  kind: SourceKindName
  base: Json
  takes(name: string): boolean
}

/** Creation bodies: no kind accepts all of its secrets at once. */
const newPipes: NewPipe[] = [
  {
    kind: 'kafka',
    base: withField(leastPipes.kafka, 'source.kafka.schemaRegistry', { url: 'https://registry.northwind.example' }),
    takes: () => true,
  },
  { kind: 'kinesis', base: leastPipes.kinesis, takes: () => true },
  { kind: 'objectStorage', base: leastPipes.objectStorage, takes: (name) => !name.endsWith('.connectionString') },
  {
    kind: 'objectStorage',
    base: withField(leastPipes.objectStorage, 'source.objectStorage', {
      type: 'azureblobstorage',
      format: 'JSONEachRow',
      azureContainerName: 'orders',
      path: '*.json',
    }),
    takes: (name) => name.endsWith('.connectionString'),
  },
  { kind: 'postgres', base: leastPipes.postgres, takes: () => true },
]

/** Pipe bodies have the secrets of their kind; every other body can have all secrets of its shape. */
function carriersOf(operation: AnyOperation): Carrier[] {
  const own = slots.filter((slot) => slot.operation === operation)
  const ofKind = (kind: SourceKindName): Slot[] => own.filter((slot) => kindOf(slot) === kind)
  if (operation.id === 'updatePipe') return kinds.map((kind) => ({ operation, kind, slots: ofKind(kind), base: {} }))
  if (operation.id === 'createPipe') return newPipes.map((pipe) => ofNewPipe(operation, own, pipe, pipe.base))
  if (operation.id !== 'discoverSchema') return [{ operation, slots: own, base: operation.example.body as Json }]
  const patched = own.filter(({ path }) => path[0] === 'patch')
  const sent = own.filter(({ path }) => path[0] === 'source')
  return [
    ...newPipes.map((pipe) => ({
      ...ofNewPipe(operation, sent, pipe, { source: pipe.base.source }),
      connects: true as const,
    })),
    ...kinds.map((kind) => {
      const slots = patched.filter((slot) => kindOf(slot) === kind)
      return { operation, kind, slots, base: {}, connects: true as const }
    }),
  ]
}

function ofNewPipe(operation: AnyOperation, own: Slot[], { kind, takes }: NewPipe, base: Json): Carrier {
  return { operation, kind, base, slots: own.filter((slot) => kindOf(slot) === kind && takes(slot.name)) }
}

export const carriers: Carrier[] = [...new Set(slots.map(({ operation }) => operation))].flatMap(carriersOf)

/** Public fields in which people put passwords; each such value is refused. */
export const publicFields: [operationId: string, kind: SourceKindName | undefined, path: string, text: string][] = [
  ['createService', undefined, 'endpoint.url', 'https://penstock:CANARY@engine.northwind.example:8443'],
  ['createService', undefined, 'endpoint.url', 'https://engine.northwind.example:8443/?password=CANARY'],
  ['updateService', undefined, 'endpoint.url', 'https://penstock:CANARY@engine.northwind.example:8443'],
  ['createPipe', 'kafka', 'source.kafka.brokers', 'penstock:CANARY@broker:9092'],
  ['createPipe', 'kafka', 'source.kafka.schemaRegistry.url', 'https://penstock:CANARY@registry.northwind.example'],
  ['createPipe', 'objectStorage', 'source.objectStorage.url', 'https://penstock:CANARY@bucket.s3.example/*.json'],
  ['createPipe', 'objectStorage', 'source.objectStorage.queueUrl', 'https://penstock:CANARY@sqs.example/orders'],
  ['createPipe', 'postgres', 'source.postgres.host', 'postgres://penstock:CANARY@db.northwind.example/shop'],
  ['updatePipe', 'postgres', 'source.postgres.host', 'postgres://penstock:CANARY@db.northwind.example/shop'],
]

/** A value for the field. Only parts of a connection string are secret, the others are shown. */
export function textFor(secrets: Canaries, { path, name }: Slot, where: string): string {
  const canary = () => secrets.value(`${name}, ${where}`)
  const pem = (kind: string) =>
    `-----BEGIN ${kind}-----\n${secrets.token(`${name}, ${where}`)}\n-----END ${kind}-----\n`
  const last = path.at(-1)
  if (last === 'certificate') return pem('CERTIFICATE')
  if (last === 'privateKey') return pem('PRIVATE KEY')
  if (last !== 'connectionString') return canary()
  if (path.includes('credentials')) return `Endpoint=sb://x.example/;SharedAccessKey=${canary()}`
  return `AccountName=x;AccountKey=${canary()};SharedAccessSignature=sv=1&sig=${canary()}&se=2;Endpoint=https://x/?sig=${canary()}`
}

/** The stored secrets, decrypted. */
export async function storedSecrets(app: TestApp, { operation, kind }: Carrier, result: Json): Promise<string> {
  const { organizationId, serviceId, pipeIds } = app.sample
  const { vault } = app.app
  if (kind) {
    const pipeId = operation.id === 'createPipe' ? (result.id as string) : pipeIds[kind]
    return JSON.stringify(openSecrets(vault, (await findPipe(app.sql, { organizationId, serviceId, pipeId }))!))
  }
  const service = (await findService(app.sql, organizationId, result.id as string))!
  return JSON.stringify(vault.open(service.endpoint!.sealedPassword, passwordContext(service)))
}

/** A request with a canary that fails, in the words of its test. */
type Failing = [where: string, status: number, make: (where: string) => RequestOptions]

/** Who may not send the request, and the bodies that would be accepted. */
interface FailingContext {
  secrets: Canaries
  developer: Key
  stranger: Key
  filled(carrier: Carrier, where: string): Json
}

/** Every way in which a request with a secret in this field fails. */
export function failingRequests(carrier: Carrier, slot: Slot, context: FailingContext): Failing[] {
  const { secrets, developer, stranger, filled } = context
  const { operation, kind } = carrier
  const last = slot.path.at(-1)!
  const parents = slot.path.slice(0, -1)
  /** An accepted body with another value in the field or in one of its parents. */
  const withAt = (path: string[], value: unknown): Json => {
    const place = path.join('.')
    return place === '' ? (value as Json) : withField(filled(carrier, 'beside'), place, value)
  }
  const whole = (where: string): Json => filled({ ...carrier, slots: [slot] }, where)
  const text = (where: string): string => JSON.stringify(whole(where))
  const canary = (where: string): string => secrets.value(`${slot.name}, ${where}`)
  const without = (where: string, name: string): Json => withField(whole(where), name, undefined)
  const required = (operation.body!.required as string[]).filter((name) => name !== slot.path[0])
  const failing: Failing[] = [
    ['as a list', 400, (where) => ({ body: withAt(slot.path, [canary(where)]) })],
    ['as an object', 400, (where) => ({ body: withAt(slot.path, { x: canary(where) }) })],
    ['as the name of a field', 400, (where) => ({ body: withAt(slot.path, { [secrets.token(where)]: 'x' }) })],
    ...parents.map(
      (_, index): Failing => [
        `in place of ${slot.path.slice(0, index + 1).join('.')}`,
        400,
        (where) => ({ body: withAt(slot.path.slice(0, index + 1), canary(where)) }),
      ],
    ),
    ['in place of the body', 400, (where) => ({ body: canary(where) })],
    ['too long', 400, (where) => ({ body: withAt(slot.path, canary(where).padEnd(70_000, 'x')) })],
    ['beside an unknown field', 400, (where) => ({ body: { ...whole(where), nmae: 'x' } })],
    ['beside a wrong type', 400, (where) => ({ body: { ...whole(where), name: 17 } })],
    ['beside a read-only field', 400, (where) => ({ body: { ...whole(where), state: 'Running' } })],
    ...required.map((name): Failing => [`without ${name}`, 400, (where) => ({ body: without(where, name) })]),
    ['in a misspelt field', 400, (where) => ({ body: withAt([...parents, `${last}s`], canary(where)) })],
    ['in an unknown field', 400, (where) => ({ body: { ...whole(where), password: canary(where) } })],
    ['cut', 400, (where) => ({ text: text(where).slice(0, -6) })],
    [
      'twice',
      400,
      (where) => ({
        text: text(where).replace(/"([^"]+)":("(?:[^"\\]|\\.)*c4n4ry(?:[^"\\]|\\.)*")/, '"$1":$2,"$1":$2'),
      }),
    ],
    ['with a bad escape', 400, (where) => ({ text: text(where).replace(/(c4n4ry[^"\\]*)/, '$1\\x') })],
    ['with a NUL', 400, (where) => ({ text: text(where).replace(/(c4n4ry[^"\\]*)/, '$1\\u0000') })],
    [
      'not in UTF-8',
      400,
      (where) => ({ text: Buffer.concat([Buffer.from(text(where)).subarray(0, -2), Buffer.from([0xff])]) }),
    ],
    ['as plain text', 415, (where) => ({ text: text(where), headers: { 'content-type': 'text/plain' } })],
    ['in a body that is too large', 413, (where) => ({ text: text(where).padEnd(1_048_577) })],
    ['by a developer', 403, (where) => ({ body: whole(where), key: developer })],
    ['by a stranger', 404, (where) => ({ body: whole(where), key: stranger })],
    ['by nobody', 401, (where) => ({ body: whole(where), key: null })],
    ['as the secret of a key', 401, (where) => ({ body: {}, key: { keyId: randomBase62(20), secret: canary(where) } })],
    [
      'as a bearer token',
      401,
      (where) => ({ body: {}, key: null, headers: { authorization: `Bearer ${secrets.token(where)}` } }),
    ],
    [
      'in headers that nobody reads',
      403,
      (where) => ({
        body: {},
        key: developer,
        headers: { 'x-api-key': secrets.token(where), cookie: `session=${secrets.token(where)}` },
      }),
    ],
  ]
  if (operation.method !== 'POST') {
    failing.push(['with an old version', 412, (where) => ({ body: whole(where), headers: { 'if-match': '"0"' } })])
  }
  if (!carrier.connects) {
    failing.push([
      'with a used key',
      409,
      (where) => ({ body: whole(where), headers: { 'idempotency-key': `${carrier.slots[0]!.name} first` } }),
    ])
  }
  if (kind && !carrier.connects) {
    failing.push([
      'with samples to validate',
      400,
      (where) => ({ body: merged(whole(where), { source: { validateSamples: true } }) }),
    ])
  }
  return failing
}
