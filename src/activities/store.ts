import { type Sql, statement } from '../database/sql.ts'
import { newTimeOrderedId, timeOfId } from '../lib/id.ts'
import type { Caller } from '../operation/caller.ts'
import type { Change } from '../operation/operation.ts'
import type { Activity } from './activity.ts'

const insertStatement = statement<{
  organizationId: string
  id: string
  type: string
  createdAt: string
  actorType: Caller['type']
  actorId: string
  address: string
  userAgent: string
  requestId: string
  target: string
  changes: string
}>(
  `INSERT INTO activities
     (organization_id, id, type, created_at, actor_type, actor_id, address, user_agent, request_id, target, changes)
   VALUES (:organizationId, :id, :type, :createdAt, :actorType, :actorId, :address, :userAgent, :requestId, :target,
     :changes)`,
)

export interface ActivityToInsert {
  type: string
  caller: Caller
  requestId: string
  now: string
  /** From `lockOrganization`: no sealed activity is later than this millisecond. */
  sealedMs: number
  target: Record<string, string>
  changes: Change[]
}

/**
 * Call in the transaction of the change: a change and its activity are stored together or not at all. The timestamp of an activity is
 * that of its id, so that ids, timestamps and seals have the same order. It is `now`, unless the clock is behind an earlier activity of
 * this process or a sealed one.
 */
export async function insertActivity(sql: Sql, activity: ActivityToInsert): Promise<void> {
  const { type, caller, requestId, now, sealedMs, target, changes } = activity
  const nowMs = Date.parse(now)
  const id = newTimeOrderedId(nowMs > sealedMs ? nowMs : sealedMs + 1)
  const createdMs = timeOfId(id)
  await sql.run(insertStatement, {
    organizationId: caller.organizationId,
    id,
    type,
    createdAt: createdMs === nowMs ? now : new Date(createdMs).toISOString(),
    actorType: caller.type,
    actorId: caller.id,
    address: caller.address,
    userAgent: caller.userAgent,
    requestId,
    target: JSON.stringify(target),
    changes: JSON.stringify(changes),
  })
}

/** The stored columns, which a seal covers. */
export interface ActivityRow {
  organization_id: string
  id: string
  type: string
  created_at: string
  actor_type: Activity['actor']['type']
  actor_id: string
  address: string
  user_agent: string
  request_id: string
  target: string
  changes: string
}

const columns =
  'organization_id, id, type, created_at, actor_type, actor_id, address, user_agent, request_id, target, changes'

type NamedRow = ActivityRow & { actor_name: string | null }

const namedActivities = `${columns},
  CASE actor_type
    WHEN 'key' THEN (SELECT api_keys.name FROM api_keys
      WHERE api_keys.id = activities.actor_id AND api_keys.organization_id = activities.organization_id)
    WHEN 'user' THEN (SELECT users.name FROM users WHERE users.id = activities.actor_id)
  END AS actor_name
  FROM activities`

const findStatement = statement<{ organizationId: string; id: string }, NamedRow>(
  `SELECT ${namedActivities} WHERE organization_id = :organizationId AND id = :id`,
)
type RangeKey = { organizationId: string; from: string; before: string; rows: number }
const rangeText = `WHERE organization_id = :organizationId AND id >= :from AND id < :before ORDER BY id DESC LIMIT :rows`
// Finds the ids first, in the index alone. SQLite would otherwise read all activities in order and filter them by type.
const rangeOfTypeText = `JOIN
  (SELECT organization_id AS page_organization_id, id AS page_id FROM activities
   WHERE organization_id = :organizationId AND type = :type AND id >= :from AND id < :before
   ORDER BY id DESC LIMIT :rows) AS page
  ON organization_id = page_organization_id AND id = page_id
  ORDER BY id DESC`
const sizes = 'octet_length(changes) AS bytes FROM activities'

const listStatement = statement<RangeKey, NamedRow>(`SELECT ${namedActivities} ${rangeText}`)
const listOfTypeStatement = statement<RangeKey & { type: string }, NamedRow>(
  `SELECT ${namedActivities} ${rangeOfTypeText}`,
)
const listSizesStatement = statement<RangeKey, { bytes: number }>(`SELECT ${sizes} ${rangeText}`)
const listSizesOfTypeStatement = statement<RangeKey & { type: string }, { bytes: number }>(
  `SELECT ${sizes} ${rangeOfTypeText}`,
)

export async function findActivity(sql: Sql, organizationId: string, id: string): Promise<Activity | undefined> {
  const row = await sql.first(findStatement, { organizationId, id })
  return row && toActivity(row)
}

export interface ActivityRange {
  organizationId: string
  type: string | undefined
  /** Inclusive. */
  from: string
  /** Exclusive. */
  before: string
  rows: number
}

/** Sizes in bytes, without reading the rows; newest first. */
export async function listActivitySizes(sql: Sql, { type, ...range }: ActivityRange): Promise<number[]> {
  const rows =
    type === undefined
      ? await sql.all(listSizesStatement, range)
      : await sql.all(listSizesOfTypeStatement, { ...range, type })
  return rows.map(({ bytes }) => bytes)
}

/** Newest first. */
export async function listActivities(sql: Sql, { type, ...range }: ActivityRange): Promise<Activity[]> {
  const rows =
    type === undefined ? await sql.all(listStatement, range) : await sql.all(listOfTypeStatement, { ...range, type })
  return rows.map(toActivity)
}

function toActivity(row: NamedRow): Activity {
  return {
    id: row.id,
    type: row.type,
    createdAt: row.created_at,
    actor: { type: row.actor_type, id: row.actor_id, ...(row.actor_name === null ? {} : { name: row.actor_name }) },
    address: row.address,
    userAgent: row.user_agent,
    requestId: row.request_id,
    target: JSON.parse(row.target) as Activity['target'],
    changes: JSON.parse(row.changes) as Activity['changes'],
  }
}

const listRowsStatement = statement<{ organizationId: string; after: string; upTo: string; rows: number }, ActivityRow>(
  `SELECT ${columns} FROM activities WHERE organization_id = :organizationId AND id > :after AND id <= :upTo
   ORDER BY id LIMIT :rows`,
)
const countStatement = statement<{ organizationId: string; after: string }, { count: number }>(
  'SELECT count(*) AS count FROM activities WHERE organization_id = :organizationId AND id > :after',
)
const listWaitingStatement = statement<
  { after: string; rows: number },
  { id: string; sealed_up_to: string; newest: string | null }
>(
  `SELECT id, sealed_up_to,
     (SELECT max(activities.id) FROM activities WHERE activities.organization_id = organizations.id) AS newest
   FROM organizations WHERE id > :after ORDER BY id LIMIT :rows`,
)

/** Few enough to be in memory at once, however large they are. */
const rowsAtOnce = 32

/** Oldest first; `after` and `upTo` are ids. */
export async function* readActivityRows(
  sql: Sql,
  range: { organizationId: string; after: string; upTo: string; rows: number },
): AsyncGenerator<ActivityRow> {
  let { after, rows: left } = range
  while (left > 0) {
    const some = await sql.all(listRowsStatement, { ...range, after, rows: Math.min(left, rowsAtOnce) })
    yield* some
    if (some.length < rowsAtOnce) return
    after = some.at(-1)!.id
    left -= some.length
  }
}

export async function countActivitiesAfter(sql: Sql, organizationId: string, after: string): Promise<number> {
  return Number((await sql.first(countStatement, { organizationId, after }))!.count)
}

/** Reads one page of organizations, ordered by id; `last` is undefined after the last page. */
export async function findUnsealed(
  sql: Sql,
  after: string,
  rows: number,
): Promise<{ unsealed: string[]; last: string | undefined }> {
  const seen = await sql.all(listWaitingStatement, { after, rows })
  return {
    unsealed: seen.filter(({ newest, sealed_up_to }) => newest !== null && newest > sealed_up_to).map(({ id }) => id),
    last: seen.at(-1)?.id,
  }
}

interface SealRow {
  number: number
  last_activity_id: string
  digests: string
  hash: string
  sealed_at: string
}

const sealColumns = 'number, last_activity_id, digests, hash, sealed_at FROM activity_seals'

const findLastSealStatement = statement<{ organizationId: string }, SealRow>(
  `SELECT ${sealColumns} WHERE organization_id = :organizationId ORDER BY number DESC LIMIT 1`,
)
const findNextSealStatement = statement<{ organizationId: string; after: number }, SealRow>(
  `SELECT ${sealColumns} WHERE organization_id = :organizationId AND number > :after ORDER BY number LIMIT 1`,
)
const insertSealStatement = statement<{
  organizationId: string
  number: number
  lastActivityId: string
  digests: string
  hash: string
  sealedAt: string
}>(
  `INSERT INTO activity_seals (organization_id, number, last_activity_id, digests, hash, sealed_at)
   VALUES (:organizationId, :number, :lastActivityId, :digests, :hash, :sealedAt)`,
)
const listSealedStatement = statement<{ after: string; rows: number }, { organization_id: string }>(
  `SELECT DISTINCT organization_id FROM activity_seals WHERE organization_id > :after
   ORDER BY organization_id LIMIT :rows`,
)

export interface Seal {
  number: number
  lastActivityId: string
  digests: string
  hash: string
  sealedAt: string
}

function toSeal({ number, last_activity_id, digests, hash, sealed_at }: SealRow): Seal {
  return { number, lastActivityId: last_activity_id, digests, hash, sealedAt: sealed_at }
}

export async function findLastSeal(sql: Sql, organizationId: string): Promise<Seal | undefined> {
  const row = await sql.first(findLastSealStatement, { organizationId })
  return row && toSeal(row)
}

export async function findNextSeal(sql: Sql, organizationId: string, after: number): Promise<Seal | undefined> {
  const row = await sql.first(findNextSealStatement, { organizationId, after })
  return row && toSeal(row)
}

export async function insertSeal(sql: Sql, organizationId: string, seal: Seal): Promise<void> {
  await sql.run(insertSealStatement, { organizationId, ...seal })
}

/** Ordered by id, after the given one; includes deleted organizations. */
export async function listSealedOrganizationIds(sql: Sql, after: string, rows: number): Promise<string[]> {
  return (await sql.all(listSealedStatement, { after, rows })).map((row) => row.organization_id)
}
