// Whether the log of the source still is the one that was read. A server that was restored, or a standby that was promoted, writes on
// from an earlier LSN, on another timeline: what was read beyond that LSN is not in its tables.
import { type PostgresLink, parseLsn } from '../../sources/postgres/postgres-link.ts'
import { timelinePartition } from './names.ts'
import type { Replication } from './replication.ts'
import { LogLost } from './stream.ts'

/** Stands for that of a log that was lost: everything is loaded again from the one that there is. */
export const unknownTimeline = '0'

/** Throws LogLost when the log does not have what was read up to `durable`, or what a load has seen. */
export async function keepTimeline(
  { store, tables }: Pick<Replication, 'store' | 'tables'>,
  wal: PostgresLink,
  durable: bigint,
): Promise<void> {
  const [system] = await wal.query('IDENTIFY_SYSTEM')
  const [, timeline = '', end = ''] = system?.map((value) => value ?? '') ?? []
  const request = await tables.findReloadRequest()
  // Those of an earlier request are replaced as soon as they are loaded again.
  const loaded = (await tables.listTables()).filter(({ reloadRequestedAt }) => reloadRequestedAt === request)
  const begins = loaded.map(({ beginLsn }) => (beginLsn === null ? 0n : parseLsn(beginLsn)))
  const read = [durable, ...begins].reduce((one, other) => (one > other ? one : other))
  if (parseLsn(end) < read) throw new LogLost()
  const known = (await store.listPositions()).find(({ partition }) => partition === timelinePartition)?.position
  if (known === timeline) return
  if (known !== undefined && known !== unknownTimeline && (await findSwitch(wal, timeline, known)) < read)
    throw new LogLost()
  await store.setPositions([{ partition: timelinePartition, position: timeline }])
}

/** Where the other timeline was left; 0n when this one does not descend from it. */
async function findSwitch(wal: PostgresLink, timeline: string, other: string): Promise<bigint> {
  // The first timeline has no history.
  if (Number(timeline) <= Number(other)) return 0n
  const [history] = await wal.query(`TIMELINE_HISTORY ${Number(timeline)}`)
  const lines = history?.[1]?.split('\n').map((line) => line.split('\t')) ?? []
  const left = lines.find(([id]) => id === other)?.[1]
  return left === undefined ? 0n : parseLsn(left)
}
