import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { findProgress } from '../progress/metrics/store.ts'
import { badRowExample, PipeBadRow } from '../progress/progress.ts'
import { engineRead } from '../services/engine-access.ts'
import { loadService } from '../services/store.ts'
import { destinationTables, PipePath } from './pipe.ts'
import { loadPipe } from './store.ts'

const defaultLimit = 100

export const listPipeErrors = operation({
  id: 'listPipeErrors',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errors',
  tag: 'data pipes',
  summary: 'List rejected rows',
  description:
    'Returns the rows that ClickHouse rejected, newest first, each with the error message. They are kept for 7 days ' +
    'in an error table in ClickHouse, one for each destination table. Takes at most 10 seconds.',
  access: 'developer',
  stability: 'beta',
  params: PipePath,
  query: Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 100,
          default: defaultLimit,
          description: 'Maximum number of rows in the response.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  result: Type.Array(PipeBadRow, { description: 'Rejected rows, newest first.' }),
  problems: ['engine_refuses', 'engine_unavailable'],
  example: { summary: 'One rejected row', result: [badRowExample] },
  prepare: {
    isNeeded: () => true,
    async run({ sql, vault, loadEngineReads }, { params, query }) {
      const pipe = await loadPipe(sql, params)
      const tables = destinationTables(pipe)
      const progress = await findProgress(sql, params)
      // Without rejected rows the engine is not asked.
      if (!progress?.rowsRefused || tables.length === 0) return []
      const { organizationId, serviceId } = params
      const engine = engineRead(vault, await loadService(sql, organizationId, serviceId))
      const { id: pipeId, destination } = pipe
      const { database } = destination
      const reads = await loadEngineReads()
      return reads.badRows({ ...engine, database, tables, pipeId, limit: query.limit ?? defaultLimit })
    },
  },
  async run(_context, { prepared }) {
    return { result: prepared ?? [] }
  },
})
