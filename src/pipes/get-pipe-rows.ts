import { Problem } from '../lib/problem.ts'
import { nullable, Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { findProgress } from '../progress/metrics/store.ts'
import { engineRead } from '../services/engine-access.ts'
import { ServiceTable } from '../services/service.ts'
import { loadService } from '../services/store.ts'
import { destinationTables, PipePath } from './pipe.ts'
import { loadPipe } from './store.ts'

const maxRows = 100

const PipeRows = Type.Object(
  {
    tables: Type.Array(ServiceTable, {
      description: 'The destination tables that exist in the engine, with their sizes.',
    }),
    table: nullable(Type.String({ description: 'The table that the rows are of; null when the pipe has no table.' })),
    columns: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the column.' }),
          type: Type.String({ description: 'Its type in the engine.' }),
        },
        { additionalProperties: false },
      ),
      { description: 'The columns of the table, without states of aggregate functions.' },
    ),
    rows: Type.Array(Type.Array(nullable(Type.String())), {
      description: 'The newest rows first: one text per column, as the engine prints it; null is NULL.',
    }),
    isCut: Type.Boolean({ description: 'Whether a long value was shortened.' }),
  },
  { $id: 'PipeRows', additionalProperties: false },
)

export const getPipeRows = operation({
  id: 'getPipeRows',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/rows',
  tag: 'data pipes',
  summary: 'Get newest rows',
  description:
    'Returns the newest rows of a destination table of the pipe, and the sizes of all its tables, read from the engine. The ' +
    'rows are those of the parts that the engine wrote last, highest version or sorting key first; of a copy of a PostgreSQL ' +
    'table, the newest versions of rows that are not deleted. At most 100 rows and 1 MB, so fewer rows of a ' +
    'table with very many columns; long values are shortened. Takes at most 5 seconds. Empty until the pipe has inserted something.',
  access: 'developer',
  stability: 'beta',
  params: PipePath,
  query: Type.Object(
    {
      table: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'A destination table of the pipe. Default: the first one.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxRows, default: maxRows, description: 'Maximum number of rows.' }),
      ),
    },
    { additionalProperties: false },
  ),
  result: PipeRows,
  problems: ['engine_refuses', 'engine_unavailable'],
  example: {
    summary: 'The newest order',
    result: {
      tables: [{ database: 'default', table: 'orders', engine: 'MergeTree', rows: 48_211, bytes: 1_310_720 }],
      table: 'orders',
      columns: [
        { name: 'id', type: 'UInt64' },
        { name: 'amount', type: 'Decimal(12, 2)' },
      ],
      rows: [['48211', '19.90']],
      isCut: false,
    },
  },
  prepare: {
    isNeeded: () => true,
    async run({ sql, vault, loadEngineReads }, { params, query }) {
      const pipe = await loadPipe(sql, params)
      const tables = destinationTables(pipe)
      const table = query.table ?? tables[0]
      if (table !== undefined && !tables.includes(table)) {
        const names = tables.slice(0, 10).map((name) => `"${name}"`)
        throw new Problem(
          'invalid_query',
          `table must be a destination table of the pipe (${names.join(', ')}), not "${table}"`,
        )
      }
      const nothing = { tables: [], table: table ?? null, columns: [], rows: [], isCut: false }
      const progress = await findProgress(sql, params)
      if (table === undefined || !progress?.inserts) return nothing
      const { organizationId, serviceId } = params
      const engine = engineRead(vault, await loadService(sql, organizationId, serviceId))
      const { database } = pipe.destination
      const limit = query.limit ?? maxRows
      const reads = await loadEngineReads()
      const { sizes, newest } = await reads.newestRows({ ...engine, database, tables, table, limit })
      return { ...newest, table, tables: sizes }
    },
  },
  async run(_context, { prepared }) {
    return { result: prepared! }
  },
})
