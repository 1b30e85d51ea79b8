import { hostInUrl } from '../lib/host.ts'
import { newId } from '../lib/id.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { engineRead } from '../services/engine-access.ts'
import { ServicePath } from '../services/service.ts'
import { loadService } from '../services/store.ts'
import { kafka } from '../source-shapes/kafka-source.ts'
import { kinesis } from '../source-shapes/kinesis-source.ts'
import { objectStorage } from '../source-shapes/object-storage-source.ts'
import { postgres } from '../source-shapes/postgres-source.ts'
import type { ProbeReport, ProbeRequest } from '../source-shapes/probe.ts'
import { fieldProblem, type SourceSecrets } from '../source-shapes/source-kind.ts'
import { maxTables, TableMappingToAdd } from '../source-shapes/table-mappings.ts'
import { newSource } from './create-pipe.ts'
import { mergePipe } from './merge-pipe.ts'
import { PipePatch, probeOf } from './pipe.ts'
import { showRows } from './sample-rows.ts'
import { loadPipe, openSecrets } from './store.ts'

const Request = Type.Object(
  {
    source: Type.Optional(
      Type.Object(
        {
          kafka: Type.Optional(kafka.Create),
          kinesis: Type.Optional(kinesis.Create),
          objectStorage: Type.Optional(objectStorage.Create),
          postgres: Type.Optional(
            Type.Object(
              {
                ...postgres.Create.properties,
                tableMappings: Type.Optional(
                  Type.Array(TableMappingToAdd, { maxItems: maxTables, description: 'The tables to take samples of.' }),
                ),
              },
              { $id: 'PostgresSourceDiscovery', additionalProperties: false },
            ),
          ),
        },
        { additionalProperties: false, description: 'Exactly one kind, as a pipe is created with it.' },
      ),
    ),
    pipeId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'Instead of `source`: a pipe of the service, with its stored secrets.',
      }),
    ),
    patch: Type.Optional(PipePatch),
  },
  {
    $id: 'SchemaDiscoveryRequest',
    additionalProperties: false,
    description: '`source`, or `pipeId`; with the latter `patch` looks at the pipe as that update would make it.',
  },
)
type Request = Static<typeof Request>

const Field = Type.Object(
  {
    name: Type.String(),
    type: Type.String({
      description:
        'A type that holds the values, such as `Nullable(Int64)`, and that the engine of the service has, if it answers.',
    }),
    isOptional: Type.Boolean({ description: 'Some records are without it, or have null.' }),
  },
  { $id: 'SourceField', additionalProperties: false },
)

const Fields = Type.Array(Field, {
  description: 'What the records have: as the format declares, or as the sample shows.',
})
const Rows = Type.Array(Type.Object({}, { additionalProperties: true }), {
  description: 'The first records of the sample. Long values are cut; bytes that are no text are shown in base64.',
})

const tableNames = {
  sourceSchemaName: Type.String(),
  sourceTable: Type.String(),
  primaryKey: Type.Array(Type.String(), { description: 'Columns; empty when the table has none.' }),
}

const SchemaDiscovery = Type.Object(
  {
    steps: Type.Array(
      Type.Object(
        {
          step: Type.Enum(['connect', 'tls', 'authenticate', 'describe', 'read', 'decode', 'fit']),
          durationMs: Type.Number(),
        },
        { additionalProperties: false },
      ),
      { description: 'What was done, in this order.' },
    ),
    fields: Fields,
    rows: Rows,
    tables: Type.Array(
      Type.Object({ ...tableNames, fields: Fields, rows: Rows }, { $id: 'SourceTable', additionalProperties: false }),
      { description: 'Of PostgreSQL, instead of `fields` and `rows`: the tables of the mappings.' },
    ),
    availableTables: Type.Array(Type.Object(tableNames, { additionalProperties: false }), {
      description: 'Of PostgreSQL: tables that can be mapped; the first 1,000.',
    }),
    misfits: Type.Array(Type.String(), {
      description: 'Of a pipe: what the sample does not have, or has otherwise than the columns and mappings need it.',
    }),
  },
  { $id: 'SchemaDiscovery', additionalProperties: false },
)
type SchemaDiscovery = Static<typeof SchemaDiscovery>

export const discoverSchema = operation({
  id: 'discoverSchema',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/schemaDiscovery',
  tag: 'data pipes',
  summary: 'Discover schema of source',
  description:
    'Connects to a source, reads a sample and returns what is in it: fields with a type of the engine that holds them, and the ' +
    'first rows. Changes nothing. The source is sent as to create a pipe, or it is that of a pipe, with its stored secrets ' +
    'and, with `patch`, as an update would make it. For PostgreSQL, `tableMappings` may be left out to see which tables there ' +
    'are.\n\n' +
    'Takes at most 10 seconds. A step that fails is a 400 that says which step, why, and what to do. Every request connects ' +
    'again: `Idempotency-Key` has no effect.',
  access: 'admin',
  stability: 'beta',
  changesNothing: true,
  params: Type.Object(ServicePath),
  body: Request,
  result: SchemaDiscovery,
  problems: ['source_not_validated'],
  example: {
    summary: 'The tables and columns of a PostgreSQL source',
    body: {
      source: {
        postgres: {
          host: 'orders-db.northwind.example',
          database: 'shop',
          credentials: { username: 'shop_reader', password: 'a-password' },
          settings: { replicationMode: 'snapshot' },
          tableMappings: [{ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }],
        },
      },
    },
    result: {
      steps: [
        { step: 'connect', durationMs: 1.8 },
        { step: 'tls', durationMs: 6.1 },
        { step: 'authenticate', durationMs: 9.4 },
        { step: 'describe', durationMs: 12.7 },
        { step: 'read', durationMs: 3.2 },
        { step: 'decode', durationMs: 0.3 },
      ],
      fields: [],
      rows: [],
      tables: [
        {
          sourceSchemaName: 'public',
          sourceTable: 'orders',
          primaryKey: ['id'],
          fields: [
            { name: 'id', type: 'Int64', isOptional: false },
            { name: 'placed_at', type: "DateTime64(6, 'UTC')", isOptional: false },
          ],
          rows: [{ id: 1, placed_at: '2026-11-02T16:40:09.120Z' }],
        },
      ],
      availableTables: [{ sourceSchemaName: 'public', sourceTable: 'orders', primaryKey: ['id'] }],
      misfits: [],
    },
  },
  prepare: {
    isNeeded: () => true,
    async run({ sql, vault, probe, loadEngineReads }, { params, body }) {
      const { organizationId, serviceId } = params
      const service = await loadService(sql, organizationId, serviceId)
      const problems = requestProblems(body)
      if (problems.length > 0) throw invalidBody(problems)
      /** Asks the engine of the service for its types while the source is read. An engine that does not answer is ignored. */
      const chooseTypes = async (): Promise<TypeChoice> => {
        if (service.state === 'failed' || service.state === 'stopped') return asItIs
        const engine = engineRead(vault, service)
        const reads = await loadEngineReads()
        return await reads.typeChoice(engine)
      }
      const discover = async (request: ProbeRequest): Promise<SchemaDiscovery> => {
        const choosing = chooseTypes().catch(() => asItIs)
        return toDiscovery(await probe(request), await choosing)
      }
      if (body.pipeId === undefined) return await discover(probeOfSource(organizationId, body))

      const pipe = await loadPipe(sql, { organizationId, serviceId, pipeId: body.pipeId.toLowerCase() })
      const stored = () => openSecrets(vault, pipe)
      const { pipe: merged, secrets = stored() } = body.patch ? mergePipe(pipe, body.patch, stored) : { pipe }
      requireOwnPassword(secrets)
      return await discover(probeOf(merged, secrets, { mustFit: false }))
    },
  },
  async run(_context, { prepared }) {
    return { result: prepared! }
  },
})

function requestProblems({ source, pipeId, patch }: Request): FieldProblem[] {
  if ((source === undefined) === (pipeId === undefined)) {
    return [fieldProblem('source', 'must be sent, or pipeId, and not both')]
  }
  if (pipeId === undefined && patch !== undefined) return [fieldProblem('patch', 'is only for pipeId')]
  return []
}

/**
 * A stored password is sent only to the host and port that it was stored for. This request leaves no trace, so a caller could
 * otherwise send the password to a host of their own.
 */
function requireOwnPassword({ passwordFor }: SourceSecrets): void {
  if (passwordFor === undefined) return
  const path = 'patch.source.postgres.credentials'
  const address = `${hostInUrl(passwordFor.host)}:${passwordFor.port}`
  throw invalidBody([fieldProblem(path, `must have password, because the stored one was sent for ${address}`)])
}

function probeOfSource(organizationId: string, { source: { postgres, ...others } = {} }: Request): ProbeRequest {
  const problems: FieldProblem[] = []
  const sent = { ...others, ...(postgres ? { postgres: { tableMappings: [], ...postgres } } : {}) }
  const { kind, source } = newSource(newId(), sent, problems)
  if (!kind || problems.length > 0) throw invalidBody(problems)
  return { kind, organizationId, source }
}

type TypeChoice = (type: string) => string
const asItIs: TypeChoice = (type) => type

function toDiscovery({ steps, samples, tables = [], misfits }: ProbeReport, chooseType: TypeChoice): SchemaDiscovery {
  const shown = samples.map(({ fields, rows, table }) => ({
    fields: fields.map((field) => ({ ...field, type: chooseType(field.type) })),
    rows: showRows(rows),
    table,
  }))
  const [first] = shown
  return {
    steps,
    ...(first && !first.table ? { fields: first.fields, rows: first.rows } : { fields: [], rows: [] }),
    tables: shown.flatMap(({ table, ...sample }) => (table ? [{ ...table, ...sample }] : [])),
    availableTables: tables,
    misfits,
  }
}
