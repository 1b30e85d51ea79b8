import { invalidBody } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { engineRead } from '../services/engine-access.ts'
import { ServicePath } from '../services/service.ts'
import { loadService } from '../services/store.ts'
import { columnTypeProblems, DestinationCreate } from './destination.ts'

const { database, table, columns } = DestinationCreate.properties

const Request = Type.Object(
  {
    database,
    table,
    managedTable: Type.Optional(
      Type.Boolean({ default: true, description: 'Whether Penstock creates the table if it does not exist.' }),
    ),
    columns,
  },
  { $id: 'DestinationCheckRequest', description: 'Destination to check.', additionalProperties: false },
)
type Request = Static<typeof Request>

const DestinationCheck = Type.Object(
  {
    databaseExists: Type.Boolean({ description: 'Whether the database exists.' }),
    tableExists: Type.Boolean({ description: 'Whether the table exists.' }),
    databases: Type.Array(Type.String(), {
      description: 'Databases that the ClickHouse user can see, at most 1,000.',
    }),
    errors: Type.Array(
      Type.Object(
        {
          pointer: Type.String({ description: 'JSON pointer to the field of the request.' }),
          detail: Type.String({ description: 'The error, and what to do.' }),
        },
        { additionalProperties: false },
      ),
      { description: 'Errors that a pipe with this destination would have; an empty list if there are no errors.' },
    ),
  },
  { $id: 'DestinationCheck', description: 'Result of the check.', additionalProperties: false },
)
type DestinationCheck = Static<typeof DestinationCheck>

export const checkDestination = operation({
  id: 'checkDestination',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/destinationCheck',
  tag: 'data pipes',
  summary: 'Check destination',
  description:
    'Checks whether a pipe can write to a destination: the database exists, the table exists if `managedTable` is ' +
    'false, and ClickHouse supports the column types. Changes nothing.\n\n' +
    'Takes at most 5 seconds. Every request connects again: `Idempotency-Key` has no effect.',
  access: 'admin',
  stability: 'beta',
  changesNothing: true,
  params: Type.Object(ServicePath),
  body: Request,
  result: DestinationCheck,
  problems: ['engine_refuses', 'engine_unavailable'],
  example: {
    summary: 'A database that does not exist',
    body: { database: 'shop', table: 'orders', columns: [{ name: 'id', type: 'Int64' }] },
    result: {
      databaseExists: false,
      tableExists: false,
      databases: ['default', 'system'],
      errors: [
        {
          pointer: '#/database',
          detail: 'the engine has no database "shop"; create it with CREATE DATABASE, or choose another',
        },
      ],
    },
  },
  prepare: {
    isNeeded: () => true,
    async run({ sql, vault, loadEngineReads }, { params, body }): Promise<DestinationCheck> {
      const { organizationId, serviceId } = params
      const service = await loadService(sql, organizationId, serviceId)
      const sentColumns = body.columns ?? []
      const problems = columnTypeProblems('columns', sentColumns)
      if (problems.length > 0) throw invalidBody(problems)
      const engine = engineRead(vault, service)
      const reads = await loadEngineReads()
      const { hasDatabase, hasTable, databases, unknownFamilies } = await reads.destination({
        ...engine,
        database: body.database,
        table: body.table,
        types: sentColumns.map(({ type }) => type),
      })
      const errors = [
        ...tableErrors(body, hasDatabase, hasTable),
        ...unknownFamilies.flatMap((family, index) =>
          family === undefined ? [] : [unknownType(index, sentColumns[index]!.name, family)],
        ),
      ]
      return { databaseExists: hasDatabase, tableExists: hasTable, databases, errors }
    },
  },
  async run(_context, { prepared }) {
    return { result: prepared! }
  },
})

type Errors = DestinationCheck['errors']

function tableErrors(
  { database, table, managedTable = true }: Request,
  hasDatabase: boolean,
  hasTable: boolean,
): Errors {
  if (!hasDatabase) {
    const detail = `the engine has no database ${JSON.stringify(database)}; create it with CREATE DATABASE, or choose another`
    return [{ pointer: '#/database', detail }]
  }
  if (table === undefined || managedTable || hasTable) return []
  const detail = `the database ${JSON.stringify(database)} has no table ${JSON.stringify(table)}; create it, or let Penstock manage it`
  return [{ pointer: '#/table', detail }]
}

function unknownType(index: number, column: string, family: string): Errors[number] {
  const detail = `the engine has no type ${family}, which the column ${JSON.stringify(column)} needs; use another type, or a newer engine`
  return { pointer: `#/columns/${index}/type`, detail }
}
