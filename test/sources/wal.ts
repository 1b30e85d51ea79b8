// pgoutput messages: hand-written ones, and those of a server.
import { Buffer } from 'node:buffer'
import pg from 'pg'
import {
  decodeMessage,
  makeScratch,
  type Relation,
  type Tuple,
  tupleKind,
  type WalVisitor,
} from '../../src/sources/postgres/pgoutput.ts'

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}
const int64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
const text = (value: string): Buffer => Buffer.from(`${value}\0`)

/** Undefined: an unchanged TOAST value. */
export type GivenValue = string | Buffer | null | undefined

function tupleBytes(values: GivenValue[]): Buffer {
  const parts = values.map((value) => {
    if (value === null) return Buffer.from('n')
    if (value === undefined) return Buffer.from('u')
    const bytes = Buffer.from(value)
    return Buffer.concat([Buffer.from('t'), int32(bytes.length), bytes])
  })
  return Buffer.concat([int16(values.length), ...parts])
}

export const walMessages = {
  begin: (commitLsn: bigint, microseconds: bigint): Buffer =>
    Buffer.concat([Buffer.from('B'), int64(commitLsn), int64(microseconds), int32(7)]),
  commit: (commitLsn: bigint, endLsn: bigint): Buffer =>
    Buffer.concat([Buffer.from('C\0'), int64(commitLsn), int64(endLsn), int64(0n)]),
  relation: ({ id, schema, table, identity, columns }: Relation): Buffer =>
    Buffer.concat([
      ...[
        Buffer.from('R'),
        int32(id),
        text(schema),
        text(table),
        Buffer.from(identity.slice(0, 1)),
        int16(columns.length),
      ],
      ...columns.flatMap(({ isKey, name, typeId, modifier }) => [
        Buffer.from([isKey ? 1 : 0]),
        text(name),
        int32(typeId),
        int32(modifier),
      ]),
    ]),
  insert: (relationId: number, after: GivenValue[]): Buffer =>
    Buffer.concat([Buffer.from('I'), int32(relationId), Buffer.from('N'), tupleBytes(after)]),
  update: (relationId: number, after: GivenValue[], before?: { is: 'K' | 'O'; values: GivenValue[] }): Buffer =>
    Buffer.concat([
      Buffer.from('U'),
      int32(relationId),
      ...(before ? [Buffer.from(before.is), tupleBytes(before.values)] : []),
      Buffer.from('N'),
      tupleBytes(after),
    ]),
  delete: (relationId: number, is: 'K' | 'O', before: GivenValue[]): Buffer =>
    Buffer.concat([Buffer.from('D'), int32(relationId), Buffer.from(is), tupleBytes(before)]),
  truncate: (relationIds: number[]): Buffer =>
    Buffer.concat([Buffer.from('T'), int32(relationIds.length), Buffer.from([0]), ...relationIds.map(int32)]),
}

/** Values of a tuple, as text. */
function valuesOf({ bytes, count, kinds, starts, ends }: Tuple): (string | null | undefined)[] {
  return Array.from({ length: count }, (_, index) => {
    if (kinds[index] === tupleKind.null) return null
    if (kinds[index] === tupleKind.unchanged) return undefined
    return bytes.toString('utf8', starts[index], ends[index])
  })
}

/** Records the calls of a visitor, in order. */
export function decodeAll(messages: readonly Buffer[]): unknown[][] {
  const calls: unknown[][] = []
  const visitor: WalVisitor = {
    begin: (...call) => void calls.push(['begin', ...call]),
    commit: (...call) => void calls.push(['commit', ...call]),
    relation: (relation) => void calls.push(['relation', relation]),
    insert: (id, after) => void calls.push(['insert', id, valuesOf(after)]),
    update: (id, after, before, beforeIs) =>
      void calls.push(['update', id, valuesOf(after), before && valuesOf(before), beforeIs]),
    delete: (id, before, beforeIs) => void calls.push(['delete', id, valuesOf(before), beforeIs]),
    truncate: (ids) => void calls.push(['truncate', ids]),
  }
  const scratch = makeScratch()
  for (const message of messages) {
    // A message within a larger buffer.
    const among = Buffer.concat([Buffer.from('xyz'), message, Buffer.from('t\0\0\0\x01')])
    decodeMessage(among, 3, 3 + message.length, visitor, scratch)
  }
  return calls
}

/** Session settings of a pipe. */
const session = `
  SET search_path = ''; SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 3`

export interface WalReader {
  query(sql: string): Promise<pg.QueryResult>
  /** Changes committed since the replication slot was created or last read. */
  read(): Promise<Buffer[]>
  /** Drops the replication slot too. */
  close(): Promise<void>
}

/** Needs wal_level = logical, and an existing publication. */
export async function openWalReader(
  connectionString: string,
  { slot, publication }: { slot: string; publication: string },
): Promise<WalReader> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(session)
  await client.query(`SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput')`)
  return {
    query: (sql) => client.query(sql),
    async read() {
      const { rows } = await client.query<{ data: Buffer }>(
        `SELECT data FROM pg_logical_slot_get_binary_changes('${slot}', NULL, NULL,
          'proto_version', '1', 'publication_names', '${publication}')`,
      )
      return rows.map(({ data }) => data)
    },
    async close() {
      await client.query(`SELECT pg_drop_replication_slot('${slot}')`)
      await client.end()
    },
  }
}
