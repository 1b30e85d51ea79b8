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
                  Type.Array(TableMappingToAdd, {
                    maxItems: maxTables,
                    description: 'Tables to sample. Omit it to list the available tables only.',
                  }),
                ),
              },
              {
                $id: 'PostgresSourceDiscovery',
                description: 'PostgreSQL source with its credentials. `tableMappings` is optional.',
                additionalProperties: false,
              },
            ),
          ),
        },
        {
          additionalProperties: false,
          description: 'Source as in `createPipe`: exactly one of `kafka`, `kinesis`, `objectStorage` and `postgres`.',
        },
      ),
    ),
    pipeId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'Id of a pipe, to use its source with its stored secrets. Send it instead of `source`.',
      }),
    ),
    patch: Type.Optional(PipePatch),
  },
  {
    $id: 'SchemaDiscoveryRequest',
    additionalProperties: false,
    description:
      'Either `source` or `pipeId`. `patch` is only allowed with `pipeId`: it is applied before the check and not ' +
      'stored.',
  },
)
type Request = Static<typeof Request>

const Field = Type.Object(
  {
    name: Type.String({ description: 'Name of the field.' }),
    type: Type.String({
      description:
        'ClickHouse data type for the values, such as `Nullable(Int64)`. If ClickHouse answers, it is a type that the ' +
        'service supports.',
    }),
    isOptional: Type.Boolean({ description: 'Whether the field is absent or null in some records.' }),
  },
  { $id: 'SourceField', description: 'Field of the source records.', additionalProperties: false },
)

const Fields = Type.Array(Field, {
  description: 'Fields of the records, as the format declares them or as inferred from the sample.',
})
const Rows = Type.Array(Type.Object({}, { additionalProperties: true }), {
  description: 'First records of the sample. Long values are truncated; non-text bytes are Base64-encoded.',
})

const tableNames = {
  sourceSchemaName: Type.String({ description: 'PostgreSQL schema of the source table.' }),
  sourceTable: Type.String({ description: 'Source table in PostgreSQL.' }),
  primaryKey: Type.Array(Type.String(), { description: 'Primary key columns; empty if the table has no primary key.' }),
}

const SchemaDiscovery = Type.Object(
  {
    steps: Type.Array(
      Type.Object(
        {
          step: Type.Enum(['connect', 'tls', 'authenticate', 'describe', 'read', 'decode', 'fit'], {
            description: 'Step of the check.',
          }),
          durationMs: Type.Number({ description: 'Duration in milliseconds.' }),
        },
        { additionalProperties: false },
      ),
      { description: 'Completed steps of the check, in order.' },
    ),
    fields: Fields,
    rows: Rows,
    tables: Type.Array(
      Type.Object(
        { ...tableNames, fields: Fields, rows: Rows },
        { $id: 'SourceTable', description: 'Sample of a PostgreSQL table.', additionalProperties: false },
      ),
      { description: 'PostgreSQL: samples of the tables of the mappings, instead of `fields` and `rows`.' },
    ),
    availableTables: Type.Array(Type.Object(tableNames, { additionalProperties: false }), {
      description: 'PostgreSQL: tables that can be replicated, at most 1,000.',
    }),
    misfits: Type.Array(Type.String(), {
      description: 'Differences between the sample and the columns and mappings of the pipe. Only with `pipeId`.',
    }),
  },
  { $id: 'SchemaDiscovery', description: 'Fields and sample rows of a source.', additionalProperties: false },
)
type SchemaDiscovery = Static<typeof SchemaDiscovery>

export const discoverSchema = operation({
  id: 'discoverSchema',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/schemaDiscovery',
  tag: 'data pipes',
  summary: 'Discover the schema of a source',
  description:
    'Connects to a source, reads a sample, and returns the fields with ClickHouse types and the first rows. Changes ' +
    'nothing. Send `source` as in `createPipe`, or `pipeId` to use the source of a pipe with its stored secrets. With ' +
    '`pipeId`, `patch` applies an update before the check. For PostgreSQL, omit `tableMappings` to list the ' +
    'available tables.\n\n' +
    'Takes at most 10 seconds. If a step fails, the response is a 400 with the step, the error and what to do. Every ' +
    'request connects again: `Idempotency-Key` has no effect.',
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
