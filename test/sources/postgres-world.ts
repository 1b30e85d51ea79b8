// Roles and tables on the server of the PostgreSQL suite: each has one deviation.
import type { PostgresSource } from '../../src/source-shapes/postgres-source.ts'
import type { TableMapping } from '../../src/source-shapes/table-mappings.ts'
import { makePostgresSource } from '../../src/sources/postgres/postgres.ts'
import type { Source, SourceContext } from '../../src/sources/source.ts'

export interface PostgresServer {
  /** Part of test names. */
  name: string
  /** The major version. */
  version: number
  host: string
  /** The server has TLS with a certificate signed by `ca`, and wal_level logical. */
  port: number
  ca: string
  superuser: { username: string; password: string }
  /** Contains pg_hba.conf, server.crt and server.key, owned by the server's account. */
  dataDirectory: string
  /** As superuser; default database: `postgres`. */
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

export const probed = 'Probed database'
export const password = "hunter2 'sesame"
/** User names are secrets too. */
export const secrets = [password, 'hushed_']

const roles = {
  /** Owns the tables, and may replicate. */
  owner: 'LOGIN REPLICATION',
  replicator: 'LOGIN REPLICATION',
  reader: 'LOGIN',
  powerless: 'LOGIN',
  rejected: 'LOGIN',
  limited: 'LOGIN CONNECTION LIMIT 0',
  sleeper: 'NOLOGIN',
  stranger: 'LOGIN',
}
export type Role = keyof typeof roles

const tables = `
  CREATE SCHEMA shop AUTHORIZATION hushed_owner;
  CREATE SCHEMA hidden AUTHORIZATION hushed_owner;
  GRANT USAGE ON SCHEMA shop TO hushed_reader, hushed_replicator, hushed_powerless;
  SET ROLE hushed_owner;
  CREATE TABLE shop.orders (id int PRIMARY KEY, total numeric(12,2), note text NOT NULL, "odd ""name" char(4));
  INSERT INTO shop.orders VALUES (1, 10.50, 'first', 'ab'), (2, NULL, 'second', NULL);
  CREATE TABLE shop."order Lines" (line int, "order" bigint, PRIMARY KEY ("order", line));
  CREATE TABLE shop.keyless (id int NOT NULL UNIQUE, note text);
  CREATE TABLE shop.keyless_full (id int NOT NULL UNIQUE, note text UNIQUE, part int NOT NULL);
  CREATE UNIQUE INDEX ON shop.keyless_full (part) WHERE part > 0;
  ALTER TABLE shop.keyless_full REPLICA IDENTITY FULL;
  CREATE TABLE shop.nameless (id int PRIMARY KEY);
  ALTER TABLE shop.nameless REPLICA IDENTITY NOTHING;
  CREATE TABLE shop.indexed (id int NOT NULL);
  CREATE UNIQUE INDEX indexed_id ON shop.indexed (id);
  ALTER TABLE shop.indexed REPLICA IDENTITY USING INDEX indexed_id;
  CREATE TABLE shop.indexed_apart (id int PRIMARY KEY, mail text NOT NULL UNIQUE);
  ALTER TABLE shop.indexed_apart REPLICA IDENTITY USING INDEX indexed_apart_mail_key;
  CREATE TABLE shop.days (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
  CREATE TABLE shop.days_2020 PARTITION OF shop.days FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
  INSERT INTO shop.days VALUES (7, '2020-02-03');
  CREATE UNLOGGED TABLE shop.unlogged (id int PRIMARY KEY);
  CREATE TABLE shop.computed (id int PRIMARY KEY, half int, whole int GENERATED ALWAYS AS (half * 2) STORED);
  INSERT INTO shop.computed VALUES (1, 4);
  CREATE TABLE shop.grids (id int PRIMARY KEY, grid int[]);
  INSERT INTO shop.grids VALUES (1, '{{1,2},{3,4}}');
  CREATE TABLE shop.numbers AS SELECT number AS id FROM generate_series(1, 500) number;
  ALTER TABLE shop.numbers ADD PRIMARY KEY (id);
  CREATE TABLE shop.long (id int PRIMARY KEY, words text, bytes bytea, list text[]);
  INSERT INTO shop.long VALUES (1, repeat('é', 3000000), decode(repeat('ab', 1000000), 'hex'), ARRAY[repeat('x', 2000000)]);
  CREATE VIEW shop.order_view AS TABLE shop.orders;
  CREATE MATERIALIZED VIEW shop.order_copy AS TABLE shop.orders;
  GRANT SELECT ON ALL TABLES IN SCHEMA shop TO hushed_reader, hushed_replicator;
  CREATE TABLE shop.private (id int PRIMARY KEY, name text);
  CREATE TABLE shop.half_private (id int PRIMARY KEY, name text);
  GRANT SELECT (id) ON shop.half_private TO hushed_reader;
  CREATE TABLE hidden.orders (id int PRIMARY KEY);
  CREATE TABLE hidden.treasure (id int PRIMARY KEY);
  CREATE TABLE hidden."Treasure" (id int PRIMARY KEY);
  RESET ROLE;
  CREATE PUBLICATION probe_everything FOR ALL TABLES WITH (publish_via_partition_root = true);
  CREATE PUBLICATION probe_orders FOR TABLE shop.orders;
  CREATE PUBLICATION probe_inserts FOR TABLE shop.orders WITH (publish = 'insert');
  CREATE PUBLICATION probe_days FOR TABLE shop.days;`

export async function fillServer({ query, version }: PostgresServer): Promise<void> {
  const literal = `'${password.replaceAll("'", "''")}'`
  for (const [role, attributes] of Object.entries(roles)) {
    await query(`CREATE ROLE hushed_${role} PASSWORD ${literal} ${attributes}`)
  }
  await query(`CREATE DATABASE "${probed}"`)
  await query(`
    REVOKE CONNECT ON DATABASE "${probed}" FROM PUBLIC;
    GRANT CREATE ON DATABASE "${probed}" TO hushed_owner;
    GRANT CONNECT ON DATABASE "${probed}" TO hushed_owner, hushed_replicator, hushed_reader, hushed_powerless`)
  await query(tables, probed)
  if (version >= 15) await query('CREATE PUBLICATION probe_columns FOR TABLE shop.orders (id, total)', probed)
  await query(`SELECT pg_create_logical_replication_slot('probe_good', 'pgoutput')`, probed)
  await query(`SELECT pg_create_physical_replication_slot('probe_physical')`)
  await query(`SELECT pg_create_logical_replication_slot('probe_elsewhere', 'pgoutput')`)
}

/** Drops the database, and the objects that are not part of it. */
export async function emptyServer({ query }: PostgresServer): Promise<void> {
  await query(`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE 'probe%'`)
  await query(`DROP DATABASE "${probed}" WITH (FORCE)`)
  for (const role of Object.keys(roles)) await query(`DROP ROLE hushed_${role}`)
}

export function mapping(sourceTable: string, more: Partial<TableMapping> = {}): TableMapping {
  return {
    sourceSchemaName: 'shop',
    sourceTable,
    targetTable: `target_${sourceTable}`,
    tableEngine: 'ReplacingMergeTree',
    useCustomSortingKey: false,
    sortingKeys: [],
    excludedColumns: [],
    ...more,
  }
}

export const ownKey = { useCustomSortingKey: true, sortingKeys: ['id'] }

const settings: PostgresSource['settings'] = {
  allowNullableColumns: false,
  enableFailoverSlots: false,
  initialLoadParallelism: 4,
  pullBatchSize: 100_000,
  replicationMode: 'cdc',
  snapshotNumRowsPerPartition: 100_000,
  snapshotNumberOfParallelTables: 1,
  syncIntervalSeconds: 60,
}

export interface SourceChange extends Partial<Omit<PostgresSource, 'settings'>> {
  settings?: Partial<PostgresSource['settings']>
  credentials?: Record<string, string>
  role?: Role
  context?: Partial<SourceContext>
}

/** Default: shop.orders, read by its owner, with cdc. */
export function sourceOf(server: Pick<PostgresServer, 'host' | 'port' | 'ca'>, change: SourceChange = {}): Source {
  const { role = 'owner', credentials, context, settings: changed, ...config } = change
  const { host, port, ca } = server
  return makePostgresSource(
    {
      host,
      port,
      database: probed,
      tableMappings: [mapping('orders')],
      ...config,
      settings: { ...settings, ...changed },
    },
    { credentials: credentials ?? { username: `hushed_${role}`, password } },
    { organizationId: 'organization', caCertificates: ca, allowPlaintext: false, awsEndpoints: {}, ...context },
  )
}
