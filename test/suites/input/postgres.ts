// Input table: the fields of PostgreSQL pipes.
import { type Line, openTable, password } from './line.ts'

export const postgresLines: Line[] = []
const { bad, good } = openTable(postgresLines)

const postgres = (patch: object) => ({ source: { postgres: patch } })
for (const port of [0, 65_536, -1, 5432.5, '5432', null, true]) {
  bad(
    'postgres',
    `port ${JSON.stringify(port)}`,
    postgres({ port }),
    'source.postgres.port must be an integer between 1 and 65535, not ',
  )
}
good('postgres', 'port 1', postgres({ port: 1 }), '"port":1')
good('postgres', 'port 65535', postgres({ port: 65_535 }), '"port":65535')
for (const host of [
  'a b',
  'http://db',
  'db:5432',
  'db/x',
  '-db',
  'db-',
  '.db',
  'user@db',
  'bücher.example',
  'db\n',
  '%64b',
  '[::1]',
  ':::',
  '1:2',
  'a..b',
  'db.',
  'a.-b.example',
  '999.1.1.1',
  '1.2.3',
]) {
  bad(
    'postgres',
    `host ${JSON.stringify(host)}`,
    postgres({ host }),
    'source.postgres.host must be a host name or an IP address, not ',
  )
}
bad('postgres', 'an empty host', postgres({ host: '' }), 'source.postgres.host must have 1 to 253 characters, not 0')
bad(
  'postgres',
  'a host of 254 characters',
  postgres({ host: 'h'.repeat(254) }),
  'source.postgres.host must have 1 to 253 characters, not 254',
)
bad(
  'postgres',
  'host null',
  postgres({ host: null }),
  'source.postgres.host must be a host name or an IP address, not null',
)
for (const host of [
  'db',
  'db.example',
  '192.0.2.1',
  '::1',
  '2001:db8::1',
  'my_db-1.example',
  'xn--bcher-kva.example',
]) {
  good('postgres', `host ${host}`, postgres({ host }), `"host":"${host}"`)
}
bad(
  'postgres',
  'an empty database',
  postgres({ database: '' }),
  'source.postgres.database must have 1 to 255 characters',
)
bad('postgres', 'database null', postgres({ database: null }), 'source.postgres.database must be a string, not null')
good(
  'postgres',
  'a database of 255 characters',
  postgres({ database: 'd'.repeat(255) }),
  `"database":"${'d'.repeat(255)}"`,
)
bad(
  'postgres',
  'credentials null',
  postgres({ credentials: null }),
  'source.postgres.credentials must be an object, not null',
)
good('postgres', 'a new password alone', postgres({ credentials: { password } }), '"port":65535', { hides: password })
bad(
  'postgres',
  'another replication mode',
  postgres({ settings: { replicationMode: 'cdc' } }),
  'source.postgres.settings.replicationMode cannot be changed (it is "cdc_only")',
)
for (const setting of ['pullBatchSize', 'syncIntervalSeconds']) {
  const allowed = `source.postgres.settings.${setting} must be an integer between 1 and 2147483647 or null, not `
  bad('postgres', `${setting} 0`, postgres({ settings: { [setting]: 0 } }), `${allowed}0`)
  bad('postgres', `${setting} 2^31`, postgres({ settings: { [setting]: 2_147_483_648 } }), `${allowed}2147483648`)
  bad('postgres', `${setting} as text`, postgres({ settings: { [setting]: '1' } }), `${allowed}"1"`)
  good('postgres', `${setting} 1`, postgres({ settings: { [setting]: 1 } }), `"${setting}":1`)
  good(
    'postgres',
    `${setting} null`,
    postgres({ settings: { [setting]: null } }),
    `"${setting}":${setting === 'pullBatchSize' ? 100000 : 60}`,
  )
}
const table = { sourceSchemaName: 'public', sourceTable: 'items', targetTable: 'shop_items' }
const add = (...tableMappingsToAdd: unknown[]) => postgres({ tableMappingsToAdd })
const remove = (...tableMappingsToRemove: unknown[]) => postgres({ tableMappingsToRemove })
for (const name of ['sourceSchemaName', 'sourceTable', 'targetTable']) {
  const path = `source.postgres.tableMappingsToAdd[0].${name}`
  bad('postgres', `a table without ${name}`, add({ ...table, [name]: undefined }), `${path} is required`)
  bad(
    'postgres',
    `a table with an empty ${name}`,
    add({ ...table, [name]: '' }),
    `${path} must have 1 to 255 characters`,
  )
  bad('postgres', `a table with ${name} null`, add({ ...table, [name]: null }), `${path} must be a string, not null`)
}
bad(
  'postgres',
  'a table as text',
  add('public.items'),
  'source.postgres.tableMappingsToAdd[0] must be an object, not "public.items"',
)
bad(
  'postgres',
  'tables to add as an object',
  postgres({ tableMappingsToAdd: table }),
  'source.postgres.tableMappingsToAdd must be a list, not an object',
)
bad(
  'postgres',
  '1,001 tables',
  add(...Array.from({ length: 1001 }, (_, at) => ({ ...table, sourceTable: `t${at}`, targetTable: `t${at}` }))),
  'must have at most 1000 items, not 1001',
)
bad(
  'postgres',
  '1,000 tables on top of two',
  add(...Array.from({ length: 1000 }, (_, at) => ({ ...table, sourceTable: `t${at}`, targetTable: `t${at}` }))),
  'source.postgres.tableMappingsToAdd would give the pipe more than 1000 tables',
)
bad(
  'postgres',
  'a table that is there',
  add({ ...table, sourceTable: 'orders' }),
  'names public.orders, which the pipe has already',
)
bad(
  'postgres',
  'a table twice',
  add(table, { ...table, targetTable: 'x' }),
  'source.postgres.tableMappingsToAdd[1] names public.items a second time',
)
bad(
  'postgres',
  'a target that is taken',
  add({ ...table, targetTable: 'northwind_orders' }),
  'source.postgres.tableMappingsToAdd[0].targetTable is "northwind_orders", where public.orders goes already',
)
bad(
  'postgres',
  'an unknown engine',
  add({ ...table, tableEngine: 'Log' }),
  'must be one of MergeTree, ReplacingMergeTree, Null, not "Log"',
)
bad(
  'postgres',
  'a custom sorting key without one',
  add({ ...table, useCustomSortingKey: true }),
  'tableMappingsToAdd[0].sortingKeys is required, because useCustomSortingKey is true',
)
bad('postgres', 'a sorting key twice', add({ ...table, sortingKeys: ['a', 'a'] }), 'sortingKeys must not repeat "a"')
bad(
  'postgres',
  'a sorting key that is excluded',
  add({ ...table, sortingKeys: ['a', 'b'], excludedColumns: ['b'] }),
  'tableMappingsToAdd[0].excludedColumns has columns of the sorting key: b',
)
bad(
  'postgres',
  'a table with a stranger',
  add({ ...table, where: '1=1' }),
  'source.postgres.tableMappingsToAdd[0].where is not a known field',
)
bad(
  'postgres',
  'removal of a table that is not mapped',
  remove({ sourceSchemaName: 'public', sourceTable: 'nobody' }),
  'names public.nobody, which the pipe does not have',
)
bad(
  'postgres',
  'a removal with another target',
  remove({ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'x' }),
  'targetTable is "x", but public.orders goes to "northwind_orders"',
)
bad(
  'postgres',
  'a removal of all',
  remove(
    { sourceSchemaName: 'public', sourceTable: 'orders' },
    { sourceSchemaName: 'public', sourceTable: 'customers' },
  ),
  'source.postgres.tableMappingsToRemove must leave the pipe at least one table',
)
bad(
  'postgres',
  'a removal twice',
  remove({ sourceSchemaName: 'public', sourceTable: 'orders' }, { sourceSchemaName: 'public', sourceTable: 'orders' }),
  'tableMappingsToRemove[1] names public.orders, which the pipe does not have',
)
bad(
  'postgres',
  'the mappings themselves, changed',
  postgres({ tableMappings: [] }),
  'source.postgres.tableMappings cannot be changed; send tableMappingsToAdd and tableMappingsToRemove',
)
good(
  'postgres',
  'a replacement in one request',
  {
    source: {
      postgres: {
        tableMappingsToRemove: [{ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'northwind_orders' }],
        tableMappingsToAdd: [{ ...table, sourceTable: 'orders', targetTable: 'orders_2' }],
      },
    },
  },
  '"targetTable":"orders_2"',
)
good(
  'postgres',
  'names that only look alike when joined',
  add(
    { sourceSchemaName: 'a.b', sourceTable: 'c', targetTable: 't1' },
    { sourceSchemaName: 'a', sourceTable: 'b.c', targetTable: 't2' },
  ),
  '"targetTable":"t2"',
)
good(
  'postgres',
  'a table named __proto__',
  add({ sourceSchemaName: '__proto__', sourceTable: 'constructor', targetTable: 'toString' }),
  '"sourceSchemaName":"__proto__"',
)
