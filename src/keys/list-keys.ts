import { PageQuery, pageOf, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { Key, keyExample } from './key.ts'
import { listKeyRows } from './store.ts'

export const listKeys = operation({
  id: 'listKeys',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/keys',
  tag: 'OpenAPI',
  summary: 'List API keys',
  description: 'Returns the API keys of the organization without their secrets, newest first.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: PageQuery,
  result: Type.Array(Key, { description: 'API keys, newest first.' }),
  problems: [],
  example: { summary: 'One key', result: [keyExample] },
  async run({ sql }, { params, query }) {
    const page = readPage(query)
    const keys = await listKeyRows(sql, params.organizationId, page)
    const { rows, ...next } = pageOf(page, keys, ({ createdAt, id }) => [createdAt, id])
    return { result: rows, ...next }
  },
})
