// R9: the rows of read-only operations: Prometheus metrics and activities.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { newId } from '../../src/lib/id.ts'
import type { Key } from '../harness/test-app.ts'
import { ask, checkActivities, operationOf, type Real, readList } from './against-model.ts'
import { isExpired, limits, type Row, read } from './lifecycle-rows.ts'
import { serviceAt } from './lifecycle-services.ts'
import { alive, type Model, type ServiceThing, services, type Thing, thingSelector } from './lifecycle-world.ts'

interface Sample {
  series: string
  labels: Record<string, string>
  value: number
}

const serviceSamples = ({ id, shown: { name, provider, region, state } }: Thing): Sample[] => [
  { series: 'penstock_service_up', labels: { service: id, name, provider, region }, value: 0 },
  { series: 'penstock_service_state', labels: { service: id, name, state }, value: 1 },
]

function pipeSamples(model: Model, service: Thing): Sample[] {
  const own = alive(model.pipes).filter(({ serviceId }) => serviceId === service.id)
  return [...Map.groupBy(own, ({ shown }) => shown.state)].map(([state, list]) => ({
    series: 'penstock_pipes',
    labels: { service: service.id, state },
    value: list.length,
  }))
}

const counted = ['rows_read', 'bytes_read', 'rows_written', 'bytes_written', 'rows_refused', 'inserts', 'retries']

/** Nothing runs here: the pipes have moved no rows, and their lag is unknown. */
function progressSamples(model: Model, service: Thing): Sample[] {
  const own = alive(model.pipes).filter(({ serviceId }) => serviceId === service.id)
  return own.flatMap(({ id, kind, shown: { name, state } }) => {
    const labels = { organization: model.organization.id, service: service.id, pipe: id, name }
    return [
      { series: 'penstock_pipe_state', labels: { ...labels, kind, state }, value: 1 },
      ...counted.map((figure) => ({ series: `penstock_pipe_${figure}_total`, labels, value: 0 })),
      { series: 'penstock_pipe_rejected_rows', labels, value: 0 },
    ]
  })
}

function organizationSamples(model: Model): Sample[] {
  const shownMembers = alive(model.members).map(({ shown }) => shown)
  const keyStates = alive(model.keys).map(({ shown: { state, expireAt } }) =>
    state === 'enabled' && isExpired(expireAt) ? 'expired' : state,
  )
  return [
    ...alive(model.services).flatMap((service) => [
      ...serviceSamples(service),
      ...pipeSamples(model, service),
      ...progressSamples(model, service),
    ]),
    // No worker ran here that could leave something at a source.
    { series: 'penstock_source_leftovers', labels: { organization: model.organization.id }, value: 0 },
    ...['admin', 'developer'].map((role) => ({
      series: 'penstock_members',
      labels: { role },
      value: shownMembers.filter((member) => member.role === role).length,
    })),
    ...['enabled', 'disabled', 'expired'].map((state) => ({
      series: 'penstock_api_keys',
      labels: { state },
      value: keyStates.filter((each) => each === state).length,
    })),
  ]
}

function samplesOfService(model: Model, service: ServiceThing): Sample[] {
  return [...serviceSamples(service), ...pipeSamples(model, service), ...progressSamples(model, service)]
}

function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, series, labelText, value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line)!
    const labels = [...labelText!.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)].map(([, name, label]) => [
      name,
      label!.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
    ])
    return { series: series!, labels: Object.fromEntries(labels), value: Number(value) }
  })
}

function sameSamples(text: string, expected: Sample[]): void {
  const sorted = (samples: Sample[]) =>
    samples
      .map(({ series, labels, value }) => JSON.stringify([series, Object.entries(labels).sort(), value]))
      .toSorted()
  assert.deepEqual(sorted(samplesIn(text)), sorted(expected))
}

export async function checkOrganizationFigures(model: Model, real: Real, key?: Key): Promise<void> {
  const { text } = await ask(real, operationOf('getOrganizationPrometheus'), {}, key ? { key } : {})
  sameSamples(text, organizationSamples(model))
}

export async function checkServiceFigures(model: Model, real: Real, service: ServiceThing, key?: Key): Promise<void> {
  const ids = services.ids(service)
  const { status, text } = await ask(real, operationOf('getServicePrometheus'), ids, key ? { key } : {})
  if (service.gone) assert.equal(status, 404)
  else sameSamples(text, samplesOfService(model, service))
}

/** The current name of the key; undefined when it was deleted. */
export const nameOf =
  (model: Model) =>
  (actorId: string): string | undefined =>
    alive(model.keys).find(({ id }) => id === actorId)?.shown.name

export const watchingRows: Row[] = [
  read('getOrganizationPrometheus', fc.constant(''), (model, real, _, key) =>
    checkOrganizationFigures(model, real, key),
  ),
  read('getServicePrometheus', thingSelector, (model, real, at, key) =>
    checkServiceFigures(model, real, serviceAt(model, at), key),
  ),
  read(
    'listActivities',
    fc.record({ limit: limits, type: fc.constantFrom(undefined, 'pipe_created', 'key_updated', 'member_removed') }),
    async (model, real, { limit, type }, key) => {
      await checkActivities(model, real, { limit, key, nameOf: nameOf(model), ...(type === undefined ? {} : { type }) })
    },
  ),
  read('getActivity', fc.nat(99), async (_model, real, at, key) => {
    const [newest] = await readList(real, 'listActivities', {}, { limit: 100, key })
    const activityId = at % 5 === 0 || !newest ? newId() : newest.id
    const { status, body } = await ask(real, operationOf('getActivity'), { activityId }, { key })
    if (activityId === newest?.id) assert.deepEqual(body.result, newest)
    else assert.deepEqual([status, body.code], [404, 'not_found'])
  }),
]
