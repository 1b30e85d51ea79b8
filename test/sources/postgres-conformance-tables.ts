// PostgreSQL conformance suite, part 3: tables that cannot be replicated as mapped.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { probe } from './conformance.ts'
import type { PostgresSuite } from './postgres-suite.ts'
import { mapping, ownKey, probed, type SourceChange, sourceOf } from './postgres-world.ts'

export function tableTests(suite: PostgresSuite): void {
  const mapped = (...tableMappings: SourceChange['tableMappings'] & object): SourceChange => ({ tableMappings })

  it('reports missing tables, with similar names', async () => {
    const absent = Array.from({ length: 7 }, (_, index) => mapping(`absent${index}`))
    const change = mapped(mapping('orders'), mapping('ORDERS'), mapping('Treasure'), ...absent)
    const field = 'tableMappings[1].sourceTable'
    const { reason } = await suite.fails(change, 'describe', 'not_found', field)
    assert.equal(
      reason,
      'the database "Probed database" has no table shop.ORDERS (there is shop.orders), ' +
        'shop.Treasure (there is hidden.Treasure), shop.absent0, shop.absent1, shop.absent2 and 4 more',
    )
    const schema = mapping('orders', { sourceSchemaName: 'no such; "schema' })
    await suite.fails(mapped(schema), 'describe', 'not_found', 'tableMappings[0].sourceTable', /"no such; \\"schema"/)
  })

  it('reports a DEFERRABLE key', async () => {
    const change = mapped(mapping('deferred'))
    await suite.server.query(
      'CREATE TABLE shop.deferred (id int PRIMARY KEY DEFERRABLE, a int); GRANT SELECT ON shop.deferred TO PUBLIC',
      probed,
    )
    try {
      const field = 'tableMappings[0].sourceTable'
      await suite.fails(
        change,
        'describe',
        'not_set_up',
        field,
        /do not identify their row in shop\.deferred; .*not DEFERRABLE/,
      )
      await suite.server.query('ALTER TABLE shop.deferred REPLICA IDENTITY FULL', probed)
      const key = 'tableMappings[0].sortingKeys'
      await suite.fails(
        change,
        'describe',
        'not_set_up',
        key,
        /constraint is DEFERRABLE, and one of them .* in shop\.deferred/,
      )
      await probe(sourceOf(suite.server, { ...change, settings: { replicationMode: 'snapshot' } }))
    } finally {
      await suite.server.query('DROP TABLE shop.deferred', probed)
    }
  })

  it('reports relations that are not tables', async () => {
    const change = mapped(mapping('order_view'), mapping('order_copy'), mapping('orders_pkey'))
    const words =
      /shop\.order_view \(a view\), shop\.order_copy \(a materialized view\), shop\.orders_pkey \(an index\)/
    await suite.fails(change, 'describe', 'not_set_up', 'tableMappings[0].sourceTable', words)
    const system = mapping('pg_class', { sourceSchemaName: 'pg_catalog' })
    await suite.fails(mapped(system), 'describe', 'not_set_up', 'tableMappings[0].sourceTable', /PostgreSQL's own/)
  })

  it('reports missing permissions to read', async () => {
    const snapshot = { role: 'reader', settings: { replicationMode: 'snapshot' } } as const
    const secret = mapping('treasure', { sourceSchemaName: 'hidden' })
    const schemaField = 'tableMappings[0].sourceSchemaName'
    const usage = /GRANT USAGE ON SCHEMA "hidden" TO/
    await suite.fails({ ...snapshot, ...mapped(secret) }, 'describe', 'permission_missing', schemaField, usage)
    const two = mapped(mapping('orders'), mapping('private'), mapping('half_private'))
    const tableField = 'tableMappings[1].sourceTable'
    const select = /GRANT SELECT ON TABLE "shop"\."private", "shop"\."half_private" TO/
    await suite.fails({ ...snapshot, ...two }, 'describe', 'permission_missing', tableField, select)
    const readable = mapping('half_private', { excludedColumns: ['name'] })
    await probe(sourceOf(suite.server, { ...snapshot, ...mapped(readable) }))
  })

  it('reports tables and partitions that the initial load may not read', async () => {
    const role = 'replicator'
    await suite.server.query(
      `CREATE TABLE shop.halves (id int PRIMARY KEY, name text);
       GRANT SELECT (id, name) ON shop.halves TO hushed_replicator;
       CREATE TABLE shop.parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
       CREATE TABLE shop.parts_0 PARTITION OF shop.parts FOR VALUES FROM (0) TO (10);
       GRANT SELECT ON shop.parts TO hushed_replicator;
       CREATE PUBLICATION probe_halves FOR TABLE shop.halves, shop.parts WITH (publish_via_partition_root = true)`,
      probed,
    )
    try {
      const change = { role, ...mapped(mapping('halves'), mapping('parts')) } as const
      const followed = { ...change, settings: { publicationName: 'probe_halves' } }
      const field = 'tableMappings[0].sourceTable'
      const words =
        /GRANT SELECT ON TABLE "shop"\."halves", "shop"\."parts" TO the user of this source, for every partition too/
      await suite.fails(followed, 'describe', 'permission_missing', field, words)
      await probe(sourceOf(suite.server, { ...change, settings: { replicationMode: 'snapshot' } }))
    } finally {
      await suite.server.query('DROP PUBLICATION probe_halves; DROP TABLE shop.halves, shop.parts', probed)
    }
  })

  it('reports row-level security, which would leave rows out of a load', async () => {
    const table = mapped(mapping('orders'))
    const field = 'tableMappings[0].sourceTable'
    await suite.server.query(
      `ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY;
       CREATE POLICY later_orders ON shop.orders TO hushed_reader USING (id > 1)`,
      probed,
    )
    try {
      const snapshot = { role: 'reader', settings: { replicationMode: 'snapshot' } } as const
      const words = /row-level security hides rows from the user in shop\.orders; .*BYPASSRLS/
      await suite.fails({ ...table, ...snapshot }, 'describe', 'permission_missing', field, words)
      await suite.server.query('ALTER ROLE hushed_reader BYPASSRLS')
      await probe(sourceOf(suite.server, { ...table, ...snapshot }))
    } finally {
      await suite.server.query(
        `DROP POLICY later_orders ON shop.orders; ALTER TABLE shop.orders DISABLE ROW LEVEL SECURITY;
         ALTER ROLE hushed_reader NOBYPASSRLS`,
        probed,
      )
    }
  })

  it('reports missing columns', async () => {
    const excluding = mapping('orders', { excludedColumns: ['note', 'Note'] })
    const excludedField = 'tableMappings[0].excludedColumns'
    await suite.fails(mapped(excluding), 'describe', 'not_found', excludedField, /shop\.orders\.Note\b/)
    const sorted = mapping('orders', { useCustomSortingKey: true, sortingKeys: ['id', 'size'] })
    const sortedField = 'tableMappings[1].sortingKeys'
    await suite.fails(mapped(mapping('numbers'), sorted), 'describe', 'not_found', sortedField, /shop\.orders\.size/)
    const nothing = mapping('keyless', { tableEngine: 'MergeTree', excludedColumns: ['id', 'note'] })
    await suite.fails(mapped(nothing), 'describe', 'not_set_up', excludedField, /no column is left/)
    const computed = mapping('computed', { useCustomSortingKey: true, sortingKeys: ['whole'] })
    await suite.fails(mapped(computed), 'describe', 'not_set_up', 'tableMappings[0].sortingKeys', /computed\.whole/)
  })

  it('reports a missing key for ReplacingMergeTree', async () => {
    const field = 'tableMappings[0].useCustomSortingKey'
    await suite.fails(
      mapped(mapping('keyless_full')),
      'describe',
      'not_set_up',
      field,
      /primary key in shop\.keyless_full/,
    )
    await probe(sourceOf(suite.server, mapped(mapping('keyless_full', ownKey))))
    await probe(sourceOf(suite.server, mapped(mapping('keyless_full', { tableEngine: 'MergeTree' }))))
    const excluded = mapping('orders', { excludedColumns: ['id'] })
    await suite.fails(
      mapped(excluded),
      'describe',
      'not_set_up',
      'tableMappings[0].excludedColumns',
      /shop\.orders\.id/,
    )
  })

  it('reports a missing replica identity', async () => {
    const change = mapped(mapping('keyless', ownKey), mapping('nameless'), mapping('indexed', ownKey))
    const words = /in shop\.keyless, shop\.nameless; .*REPLICA IDENTITY FULL/
    await suite.fails(change, 'describe', 'not_set_up', 'tableMappings[0].sourceTable', words)
    await probe(sourceOf(suite.server, mapped(mapping('indexed', ownKey))))
    await probe(sourceOf(suite.server, { ...change, settings: { replicationMode: 'snapshot' } }))
    await suite.server.query('ALTER TABLE shop.days_2020 REPLICA IDENTITY NOTHING', probed)
    try {
      const field = 'tableMappings[0].sourceTable'
      await suite.fails(mapped(mapping('days')), 'describe', 'not_set_up', field, /every partition/)
    } finally {
      await suite.server.query('ALTER TABLE shop.days_2020 REPLICA IDENTITY DEFAULT', probed)
    }
  })

  it('reports sortingKeys outside the replica identity', async () => {
    const custom = { useCustomSortingKey: true, sortingKeys: ['total'] }
    const field = 'tableMappings[0].sortingKeys'
    const words = /does not have shop\.orders\.total; .*REPLICA IDENTITY FULL/
    await suite.fails(mapped(mapping('orders', custom)), 'describe', 'not_set_up', field, words)
    await probe(sourceOf(suite.server, mapped(mapping('orders', { ...custom, tableEngine: 'MergeTree' }))))
    await probe(sourceOf(suite.server, mapped(mapping('keyless_full', ownKey))))
    // The replica identity is another unique index: deletes do not contain the primary key.
    const apart = /does not have shop\.indexed_apart\.id; /
    await suite.fails(mapped(mapping('indexed_apart')), 'describe', 'not_set_up', field, apart)
  })

  it('reports sortingKeys that are not unique', async () => {
    const field = 'tableMappings[0].sortingKeys'
    const words = /several rows may have the same sortingKeys in shop\.keyless_full; .*a unique index/
    const sortedBy = (...sortingKeys: string[]) => mapping('keyless_full', { useCustomSortingKey: true, sortingKeys })
    // A unique index allows several NULLs; a partial one allows duplicates.
    for (const settings of [{}, { replicationMode: 'snapshot' } as const]) {
      await suite.fails({ ...mapped(sortedBy('note', 'part')), settings }, 'describe', 'not_set_up', field, words)
    }
    await probe(sourceOf(suite.server, mapped(sortedBy('note', 'id'))))
    await probe(sourceOf(suite.server, mapped({ ...sortedBy('note'), tableEngine: 'MergeTree' })))
  })

  it('reports unlogged tables', async () => {
    const field = 'tableMappings[0].sourceTable'
    await suite.fails(mapped(mapping('unlogged')), 'describe', 'not_set_up', field, /"unlogged" SET LOGGED/)
  })

  it('reports multidimensional arrays', async () => {
    const field = 'tableMappings[0].excludedColumns'
    await suite.fails(mapped(mapping('grids')), 'decode', 'undecodable', field, /shop\.grids\.grid/)
  })
}
