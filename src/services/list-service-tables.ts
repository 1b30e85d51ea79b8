import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { engineRead } from './engine-access.ts'
import { ServicePath, ServiceTable } from './service.ts'
import { loadService } from './store.ts'

/** Per response; a cluster may have tens of thousands. */
const maxTables = 1_000

export const listServiceTables = operation({
  id: 'listServiceTables',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/tables',
  tag: 'Service',
  summary: 'List tables of a service',
  description:
    'Returns the tables of the service with row counts and sizes, sorted by database and name. Penstock reads them ' +
    'from ClickHouse: at most 1,000 tables that the user may see, without system tables. The list is empty for a ' +
    'service without an endpoint. Takes at most 5 seconds.',
  access: 'developer',
  params: Type.Object(ServicePath),
  result: Type.Array(ServiceTable, { description: 'Tables, sorted by database and name.' }),
  problems: ['engine_refuses', 'engine_unavailable'],
  example: {
    summary: 'One table',
    result: [{ database: 'default', table: 'orders', engine: 'MergeTree', rows: 48_211, bytes: 1_310_720 }],
  },
  prepare: {
    isNeeded: () => true,
    async run({ sql, vault, loadEngineReads }, { params: { organizationId, serviceId } }) {
      const service = await loadService(sql, organizationId, serviceId)
      if (!service.endpoint) return []
      const engine = engineRead(vault, service)
      return (await loadEngineReads()).tables({ ...engine, limit: maxTables })
    },
  },
  async run(_context, { prepared }) {
    return { result: prepared ?? [] }
  },
})
