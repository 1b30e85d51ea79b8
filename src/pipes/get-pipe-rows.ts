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
      description: 'Destination tables that exist in ClickHouse, with their sizes.',
    }),
    table: nullable(Type.String({ description: 'Table of the rows; `null` if the pipe has no destination table.' })),
    columns: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Column name.' }),
          type: Type.String({ description: 'ClickHouse data type of the column.' }),
        },
        { additionalProperties: false },
      ),
      { description: 'Columns of the table, without columns of aggregate function states.' },
    ),
    rows: Type.Array(Type.Array(nullable(Type.String())), {
      description: 'Rows, newest first: one text value for each column, as ClickHouse prints it; `null` is NULL.',
    }),
    isCut: Type.Boolean({ description: 'Whether a long value was truncated.' }),
  },
  { $id: 'PipeRows', description: 'Newest rows of a destination table.', additionalProperties: false },
)

export const getPipeRows = operation({
  id: 'getPipeRows',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/rows',
  tag: 'data pipes',
  summary: 'Get newest rows',
  description:
    'Returns the newest rows of a destination table, and the sizes of all destination tables. Penstock reads them ' +
    'from ClickHouse. The rows are from the newest data parts, sorted by version or sorting key in descending order. ' +
    'Of a copy of a PostgreSQL table, only the newest versions of rows that are not deleted. ' +
    'At most 100 rows and 1 MB, so fewer rows of a table with very many columns; long values are truncated. ' +
    'Takes at most 5 seconds. The list is empty until the pipe has inserted rows.',
  access: 'developer',
  stability: 'beta',
  params: PipePath,
  query: Type.Object(
    {
      table: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'Destination table of the pipe. Default: the first one.',
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
