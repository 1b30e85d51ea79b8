import { newId } from '../lib/id.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { type Change, operation } from '../operation/operation.ts'
import { firstState } from '../progress/pipe-state.ts'
import { ServicePath } from '../services/service.ts'
import { loadService } from '../services/store.ts'
import type { PipeSource, SourceKindName } from '../source-shapes/source-kind.ts'
import { sourceKind } from '../source-shapes/source-kinds.ts'
import { destinationProblems, newDestination } from './destination.ts'
import { Pipe, PipeCreate, probeOf, type StoredPipe, showPipe } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import { defaultScaling } from './scaling.ts'
import { insertPipe, sealSecrets } from './store.ts'

const { reversePrivateEndpointIds: _, consumerGroup: __, ...kafkaExample } = pipeExample.source.kafka!

export const createPipe = operation({
  id: 'createPipe',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes',
  tag: 'data pipes',
  summary: 'Create data pipe',
  description:
    'Creates a pipe with exactly one source. Secrets are stored encrypted and never returned. A Kafka, Kinesis or ' +
    'object storage pipe writes to one table: `destination` requires `table`, `columns` and, unless `managedTable` is ' +
    'false, `tableDefinition`. A PostgreSQL pipe writes to the tables of its `tableMappings`, and `destination` has ' +
    'only `database`.\n\n' +
    'The response includes the default values of fields that were not sent. The pipe starts immediately, in the state ' +
    '`Provisioning`, unless `startPaused` is true.',
  access: 'admin',
  activity: 'pipe_created',
  wakes: ['runner'],
  stability: 'beta',
  params: Type.Object(ServicePath),
  body: PipeCreate,
  result: Pipe,
  problems: ['source_not_validated'],
  example: {
    summary: 'A Kafka pipe, created stopped',
    body: {
      name: pipeExample.name,
      source: { kafka: { ...kafkaExample, credentials: { username: 'penstock', password: 'a-password' } } },
      destination: pipeExample.destination,
      fieldMappings: pipeExample.fieldMappings,
      startPaused: true,
    },
    result: {
      ...pipeExample,
      updatedAt: pipeExample.createdAt,
      source: { kafka: { ...kafkaExample, consumerGroup: `penstock-${pipeExample.id}` } },
    },
  },
  prepare: {
    isNeeded: ({ source }) => source.validateSamples === true,
    async run({ sql, probe }, { params, body }) {
      const { organizationId, serviceId } = params
      await loadService(sql, organizationId, serviceId)
      const { kind, source, destination } = newParts(newId(), body)
      const fieldMappings = body.fieldMappings ?? []
      const pipe = { kind, organizationId, destination, fieldMappings, source: source.shown }
      await probe(probeOf(pipe, source.secrets, { mustFit: true }))
    },
  },
  async run({ sql, vault, now, record }, { params, body }) {
    const { organizationId, serviceId } = params
    await loadService(sql, organizationId, serviceId)
    const id = newId()
    const { kind, source, destination } = newParts(id, body)

    const pipe: StoredPipe = {
      id,
      organizationId,
      serviceId,
      name: body.name,
      kind,
      state: firstState(kind, body.startPaused ?? false),
      source: source.shown,
      sealedSecrets: sealSecrets(vault, { id, organizationId }, source.secrets),
      destination,
      fieldMappings: body.fieldMappings ?? [],
      scaling: { ...defaultScaling, ...body.scaling },
      settings: body.settings ?? {},
      createdAt: now,
      updatedAt: now,
      version: 1,
    }
    await insertPipe(sql, pipe)
    record({ type: 'pipe', id, serviceId }, creationChanges(pipe, Object.keys(source.secrets)))
    return { result: showPipe(pipe) }
  },
})

/** The initial configuration, so that the activities of a pipe are complete. Of secrets, only that they were set. */
function creationChanges(pipe: StoredPipe, secretNames: string[]): Change[] {
  const { name, state, destination, fieldMappings, scaling, settings } = pipe
  const sourceField = `source.${pipe.kind}`
  const shown = { name, state, destination, fieldMappings, scaling, settings, [sourceField]: pipe.source }
  return [
    ...Object.entries(shown).map(([field, to]) => ({ field, to })),
    ...secretNames.map((secret) => ({ field: `${sourceField}.${secret}`, to: 'changed' })),
  ]
}

/** Source and destination of a new pipe. Throws all their problems at once. */
function newParts(id: string, body: PipeCreate) {
  const problems: FieldProblem[] = []
  const { validateSamples: _, ...sources } = body.source
  const { kind, source } = newSource(id, sources, problems)
  const destination = newDestination(kind, body.destination, problems)
  problems.push(...destinationProblems(kind, destination, body.fieldMappings ?? []))
  if (!kind || problems.length > 0) throw invalidBody(problems)
  return { kind, source, destination }
}

/** The source of a new pipe. Reports a problem unless exactly one kind was sent. */
export function newSource(
  id: string,
  sources: { [Kind in SourceKindName]?: object },
  problems: FieldProblem[],
): { kind: SourceKindName | undefined; source: PipeSource } {
  const kinds = Object.keys(sources) as SourceKindName[]
  if (kinds.length !== 1) {
    const sent = kinds.length === 0 ? 'none' : kinds.join(' and ')
    const detail = `source must have exactly one of kafka, kinesis, objectStorage, postgres, not ${sent}`
    problems.push({ path: 'source', detail })
  }
  let source: PipeSource = { shown: {}, secrets: {} }
  for (const name of kinds) {
    const kind = sourceKind(name)
    source = kind.create(sources[name]!, id, problems) as PipeSource
    problems.push(...kind.problems(source))
  }
  return { kind: kinds[0], source }
}
