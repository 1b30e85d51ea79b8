// R9: the rows of services and private endpoints.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Key } from '../harness/test-app.ts'
import {
  ask,
  invalidBody,
  type Json,
  notFound,
  nothingToUpdate,
  type Outcome,
  operationOf,
  type Real,
  readList,
  sparsely,
  timestampIn,
} from './against-model.ts'
import { accessLists, complete, isBadList } from './lifecycle-keys.ts'
import { change, inside, limits, listOf, lookAt, outside, type Row, read } from './lifecycle-rows.ts'
import {
  attachedTo,
  defined,
  forgetUnused,
  type Model,
  newThing,
  nothing,
  pick,
  type ServiceThing,
  services,
  shows,
  type ThingSelector,
  thingSelector,
} from './lifecycle-world.ts'

/** Engine URLs and how each is shown; undefined if refused. */
export const engines = [
  {
    url: 'https://engine.northwind.example:9440',
    shown: { protocol: 'https', host: 'engine.northwind.example', port: 9440 },
  },
  {
    url: 'http://Engine.Northwind.example/',
    shown: { protocol: 'http', host: 'engine.northwind.example', port: 8123 },
  },
  { url: 'https://[2001:db8::1]', shown: { protocol: 'https', host: '2001:db8::1', port: 8443 } },
  { url: 'https://engine.northwind.example:99999', shown: undefined },
  { url: 'ftp://engine.northwind.example', shown: undefined },
]
const engine = fc.constantFrom(...engines, ...engines.slice(0, 3))
const usernames = fc.constantFrom('penstock', 'ada')
const serviceNames = fc.constantFrom('warehouse', 'Lager "süd" \\ nord', ' ')
const regions = fc.constantFrom(
  { provider: 'aws', region: 'us-east-1' },
  { provider: 'aws', region: 'eu-central-1' },
  { provider: 'gcp', region: 'europe-west1' },
  { provider: 'azure', region: 'westeurope' },
)
/** As configured in test/harness/test-app.ts. */
const configuredRegions: Record<string, string> = {
  'aws/us-east-1': 'com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d4e5f67890',
  'aws/eu-west-1': 'com.amazonaws.vpce.eu-west-1.vpce-svc-1b2c3d4e5f6789012',
}

export const endpointIds = ['vpce-0a1b2c3d', 'vpce-0a1b2c3d4e5f67890', '4711', '/subscriptions/a/b']
const usual: Record<string, RegExp> = {
  aws: /^vpce-([0-9a-f]{8}|[0-9a-f]{17})$/,
  gcp: /^[0-9]+$/,
  azure: /^\/subscriptions\/|^[0-9a-f]{8}-/,
}
const someEndpointIds = fc.uniqueArray(fc.constantFrom(...endpointIds), { maxLength: 2 })

const noService = (): ServiceThing => ({ ...nothing(), hasEndpoint: false, attached: new Map() })
export const serviceAt = (model: Model, at: ThingSelector): ServiceThing => pick(model.services, at) ?? noService()

export const serviceRows: Row[] = [
  change(
    'createService',
    fc.record({
      name: serviceNames,
      cloudRegion: regions,
      engine,
      username: usernames,
      ipAccessList: sparsely(accessLists),
      bad: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'noEndpoint', 'noPassword', 'noUrl', 'long'),
    }),
    (model, { name, cloudRegion, engine, username, bad, ...choice }) => {
      const endpoint = { url: engine.url, username, password: 'hush' }
      const bads: Json = {
        noEndpoint: { endpoint: undefined },
        noPassword: { endpoint: { url: engine.url, username } },
        noUrl: { endpoint: { ...endpoint, url: '' } },
        long: { name: 'x'.repeat(51) },
      }
      return {
        ids: {},
        body: { name, ...cloudRegion, endpoint, ...defined(choice), ...bads[bad] },
        misshapen: bad !== 'none',
        decide: () => {
          if (!engine.shown || isBadList(choice.ipAccessList)) return invalidBody
          const target = { type: 'service', id: '' }
          return {
            status: 200,
            result: (answered, span) => {
              const shown = {
                id: answered.id,
                name,
                ...cloudRegion,
                state: 'provisioning',
                engineVersion: null,
                endpoints: [{ ...engine.shown, username }],
                ipAccessList: complete(choice.ipAccessList ?? []),
                createdAt: timestampIn(answered.createdAt, span),
              }
              const thing = { ...newThing(answered.id, shown), hasEndpoint: true, attached: new Map() }
              model.services.push(thing)
              target.id = thing.id
              return services.show(model, thing, answered)
            },
            activity: { type: 'service_created', target },
          }
        },
      }
    },
  ),
  listOf('listServices', services, (model) => model.services),
  lookAt(services, (model) => model.services, noService),
  change(
    'updateService',
    fc.record({
      at: thingSelector,
      name: sparsely(serviceNames),
      url: sparsely(engine),
      username: sparsely(usernames),
      password: fc.constantFrom(undefined, undefined, undefined, 'hush', ''),
      ids: sparsely(fc.record({ add: someEndpointIds, remove: someEndpointIds }, { requiredKeys: [] })),
      addresses: sparsely(
        fc.record(
          { add: accessLists, remove: fc.subarray([{ source: inside }, { source: outside }]) },
          { requiredKeys: [] },
        ),
      ),
      extra: fc.constantFrom(
        'none',
        'none',
        'none',
        'none',
        'none',
        'none',
        'empty',
        'lists',
        'otherLists',
        'same',
        'other',
        'unknown',
      ),
    }),
    (model, choice) => {
      const { at, name, url, username, password, ids, addresses, extra } = choice
      const thing = serviceAt(model, at)
      const endpoint = defined({ url: url?.url, username, password })
      const extras: Json = {
        empty: { endpoint: {} },
        lists: { privateEndpointIds: attachedTo(thing), ipAccessList: thing.shown.ipAccessList ?? [] },
        otherLists: { privateEndpointIds: ['vpce-00000000'] },
        same: defined({ provider: thing.shown.provider, createdAt: thing.shown.createdAt }),
        other: { region: 'somewhere-else' },
        unknown: { nmae: 'x' },
      }
      const isEmpty = extra === 'empty'
      const body: Json = isEmpty
        ? extras.empty
        : {
            ...defined({ name, privateEndpointIds: ids, ipAccessList: addresses }),
            ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}),
            ...extras[extra],
          }
      return {
        ids: services.ids(thing),
        body,
        misshapen: extra === 'unknown',
        noun: services,
        thing,
        decide: () => {
          if (extra === 'other' || extra === 'otherLists') return invalidBody
          const { provider: _, createdAt: __, ...values } = body
          const hasValue = Object.values(values).some(
            (value) => typeof value !== 'object' || Object.keys(value!).length > 0 || Array.isArray(value),
          )
          if (!hasValue) return nothingToUpdate
          return changeService(model, thing, {
            name: body.name,
            endpoint: isEmpty ? {} : endpoint,
            engine: isEmpty ? undefined : url,
            ids: Array.isArray(body.privateEndpointIds) ? {} : (body.privateEndpointIds ?? {}),
            addresses: Array.isArray(body.ipAccessList) ? {} : (body.ipAccessList ?? {}),
          })
        },
      }
    },
  ),
  read('listServiceTables', thingSelector, async (model, real, at, key) => {
    const thing = serviceAt(model, at)
    const { status, body } = await ask(real, operationOf('listServiceTables'), services.ids(thing), { key })
    if (thing.gone) assert.deepEqual([status, body.code], [404, 'not_found'])
    else if ((thing.shown.endpoints as unknown[]).length === 0) assert.deepEqual([status, body.result], [200, []])
    // The hosts do not exist.
    else assert.deepEqual([status, body.code], [503, 'engine_unavailable'])
  }),
  read('getPrivateEndpointConfig', thingSelector, async (model, real, at, key) => {
    const thing = serviceAt(model, at)
    const { status, body } = await ask(real, operationOf('getPrivateEndpointConfig'), services.ids(thing), { key })
    const configured = configuredRegions[`${thing.shown.provider}/${thing.shown.region}`]
    if (thing.gone) assert.deepEqual([status, body.code], [404, 'not_found'])
    else if (!configured) assert.deepEqual([status, body.code], [404, 'private_endpoints_not_configured'])
    else assert.equal(body.result.endpointServiceId, configured)
  }),
]

interface ServiceChange {
  name: string | undefined
  endpoint: { url?: string; username?: string; password?: string }
  engine: (typeof engines)[number] | undefined
  ids: { add?: string[]; remove?: string[] }
  addresses: { add?: { source: string; description?: string }[]; remove?: { source: string }[] }
}

function changeService(model: Model, thing: ServiceThing, change: ServiceChange): Outcome {
  const { name, endpoint, engine, ids, addresses } = change
  const sendsEndpoint = Object.keys(endpoint).length > 0
  if (engine && !engine.shown) return invalidBody
  // A service created before engines could be registered needs all fields at once.
  if (sendsEndpoint && !thing.hasEndpoint && Object.keys(endpoint).length < 3) return invalidBody
  // The password of one engine is not sent to another.
  const [old] = thing.shown.endpoints
  const isElsewhere = old && engine?.shown && !isDeepStrictEqual({ ...old, ...engine.shown }, old)
  if (isElsewhere && endpoint.password === undefined) return invalidBody

  const { add = [], remove = [] } = ids
  if (remove.some((id) => !thing.attached.has(id) || add.includes(id))) return invalidBody
  if (add.some((id) => !model.endpoints.has(id))) return invalidBody

  const toAdd = complete(addresses.add ?? [])
  const toRemove = (addresses.remove ?? []).map(({ source }) => source)
  const present: Json[] = thing.shown.ipAccessList
  if (isBadList(toAdd)) return invalidBody
  if (toRemove.some((source) => present.every((entry) => entry.source !== source))) return invalidBody
  if (toRemove.some((source) => toAdd.some((entry) => entry.source === source))) return invalidBody
  const ipAccessList = present
    .filter(({ source }) => !toRemove.includes(source))
    .map((entry) => toAdd.find(({ source }) => source === entry.source) ?? entry)
  ipAccessList.push(...toAdd.filter(({ source }) => present.every((entry) => entry.source !== source)))

  const endpoints = sendsEndpoint
    ? [{ ...old, ...engine?.shown, username: endpoint.username ?? old.username }]
    : thing.shown.endpoints
  const shown = { ...thing.shown, name: name ?? thing.shown.name, endpoints, ipAccessList }
  const attach = add.filter((id) => !thing.attached.has(id))
  const isChanged =
    endpoint.password !== undefined || attach.length + remove.length > 0 || !isDeepStrictEqual(shown, thing.shown)
  if (!isChanged) return shows(model, services, thing)

  for (const id of remove) thing.attached.delete(id)
  forgetUnused(model)
  for (const id of attach) thing.attached.set(id, model.changeCount)
  Object.assign(thing, { shown, hasEndpoint: thing.hasEndpoint || sendsEndpoint, version: thing.version + 1 })
  return shows(model, services, thing, { type: 'service_updated', target: { type: 'service', id: thing.id } })
}

export const endpointRows: Row[] = [
  change(
    'createPrivateEndpoint',
    fc.record({
      at: thingSelector,
      id: fc.constantFrom(...endpointIds, ...endpointIds, 'white space', ''),
      description: fc.constantFrom(undefined, undefined, 'blue'),
      strict: fc.constantFrom(undefined, undefined, undefined, true, false),
    }),
    (model, { at, id, strict, ...choice }) => {
      const { description = '' } = choice
      const service = serviceAt(model, at)
      const { provider, region } = service.shown
      return {
        ids: services.ids(service),
        query: strict === undefined ? '' : `?strict=${strict}`,
        body: { id, ...defined(choice) },
        misshapen: id === 'white space' || id === '',
        in: service,
        decide: () => {
          const isUnusual = !usual[provider]!.test(id)
          if (isUnusual && strict) return { status: 400, code: 'unusual_endpoint_id' }
          const registered = model.endpoints.get(id) ?? { description, since: model.changeCount }
          if (registered.description !== description) return { status: 409, code: 'private_endpoint_exists' }
          model.endpoints.set(id, registered)
          const isNew = !service.attached.has(id)
          if (isNew) service.attached.set(id, model.changeCount)
          const target = { type: 'private_endpoint', id, serviceId: service.id }
          return {
            status: 200,
            result: () => ({ cloudProvider: provider, description, id, region }),
            warning: isUnusual,
            ...(isNew ? { activity: { type: 'private_endpoint_created', target } } : {}),
          }
        },
      }
    },
  ),
  read('listPrivateEndpoints', fc.record({ at: thingSelector, limit: limits }), (model, real, { at, limit }, key) =>
    checkEndpoints(model, real, serviceAt(model, at), { limit, key }),
  ),
  change(
    'deletePrivateEndpoint',
    fc.record({ at: thingSelector, id: fc.constantFrom(...endpointIds), attached: fc.boolean() }),
    (model, { at, id: anyId, attached }) => {
      const service = serviceAt(model, at)
      const id = (attached ? [...service.attached.keys()][0] : undefined) ?? anyId
      return {
        ids: { ...services.ids(service), privateEndpointId: encodeURIComponent(id) },
        in: service,
        decide: () => {
          if (!service.attached.delete(id)) return notFound
          forgetUnused(model)
          const target = { type: 'private_endpoint', id, serviceId: service.id }
          return { status: 200, result: () => undefined, activity: { type: 'private_endpoint_deleted', target } }
        },
      }
    },
  ),
]

export async function checkEndpoints(
  model: Model,
  real: Real,
  service: ServiceThing,
  { limit, key }: { limit: number; key?: Key },
): Promise<void> {
  const operationId = 'listPrivateEndpoints'
  const ids = services.ids(service)
  if (service.gone) {
    const { status, body } = await ask(real, operationOf(operationId), ids, key ? { key } : {})
    assert.deepEqual([status, body.code], [404, 'not_found'])
    return
  }
  const listed = await readList(real, operationId, ids, { limit, ...(key ? { key } : {}) })
  const { provider, region } = service.shown
  assert.deepEqual(
    listed,
    attachedTo(service).map((id) => ({
      cloudProvider: provider,
      description: model.endpoints.get(id)!.description,
      id,
      region,
    })),
  )
}
