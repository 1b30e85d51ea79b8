// Detects that the source is on another timeline. A restored server or a promoted standby continues from an earlier LSN: what was read
// beyond it is not in its tables.
import { type PostgresLink, parseLsn } from '../../sources/postgres/postgres-link.ts'
import { timelinePartition } from './names.ts'
import type { Replication } from './replication.ts'
import { LogLost } from './stream.ts'

/** Stored after WAL was lost: the reload accepts any timeline. */
export const unknownTimeline = '0'

/** Throws LogLost when the log does not have everything up to `durable` and up to the snapshots of the loads. */
export async function checkTimeline(
  { store, tables }: Pick<Replication, 'store' | 'tables'>,
  wal: PostgresLink,
  durable: bigint,
): Promise<void> {
  const [system] = await wal.query('IDENTIFY_SYSTEM')
  const [, timeline = '', end = ''] = system?.map((value) => value ?? '') ?? []
  const request = await tables.findReloadRequest()
  // Tables of an earlier reload request will be replaced by the reload.
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

/** LSN of the switch from the other timeline; 0n when this one does not descend from it. */
async function findSwitch(wal: PostgresLink, timeline: string, other: string): Promise<bigint> {
  // The first timeline has no history.
  if (Number(timeline) <= Number(other)) return 0n
  const [history] = await wal.query(`TIMELINE_HISTORY ${Number(timeline)}`)
  const lines = history?.[1]?.split('\n').map((line) => line.split('\t')) ?? []
  const left = lines.find(([id]) => id === other)?.[1]
  return left === undefined ? 0n : parseLsn(left)
}
