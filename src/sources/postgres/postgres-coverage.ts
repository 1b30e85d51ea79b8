// Which changes of a table are in the log, by publication and partitions. Changes of these are not in the log. Row versions of the
// catalog (oid and xmin) also show what was changed and changed back between two queries.
import { isDeepStrictEqual } from 'node:util'
import type { PostgresSession } from './postgres-connection.ts'
import { isText, isTexts, isTruth, orNull, queryRows, type Shape } from './postgres-rows.ts'

/** Stored with a table. */
export interface Coverage {
  /** Row version of the publication; null without a publication. */
  publication: string | null
  /** Row versions of the catalog entries that make the table a member of the publication. */
  members: string[]
  /** By partition OID: row version of its pg_inherits entry, and file number. */
  partitions: Record<string, string>
  /** By partition OID, without partitioned ones: replica identity, and row version of its index. */
  identities: Record<string, string>
}

export interface FoundCoverage extends Coverage {
  /** Its changes may be published under the name of its partitioned table. */
  isPartition: boolean
  /** Partitions that were empty when they became partitions. */
  addedEmpty: string[]
  /** Partitions altered after creation: they may have had another replica identity. */
  altered: string[]
}

interface Membership {
  tableId: string
  publication: string
  members: string[]
  isPartition: boolean
}

const membershipShape: Shape<Membership> = {
  tableId: isText,
  publication: isText,
  members: isTexts,
  isPartition: isTruth,
}

interface Partition {
  tableId: string
  id: string
  link: string
  file: string
  identity: string | null
  isAddedEmpty: boolean
  isAltered: boolean
}

const partitionShape: Shape<Partition> = {
  tableId: isText,
  id: isText,
  link: isText,
  file: isText,
  identity: orNull(isText),
  isAddedEmpty: isTruth,
  isAltered: isTruth,
}

/** By table id. */
export async function loadCoverage(
  session: PostgresSession,
  { publication, tableIds, serverVersion }: { publication: string; tableIds: string[]; serverVersion: number },
): Promise<Map<string, FoundCoverage>> {
  const found = new Map(
    tableIds.map((id): [string, FoundCoverage] => [
      id,
      {
        publication: null,
        members: [],
        partitions: {},
        identities: {},
        isPartition: false,
        addedEmpty: [],
        altered: [],
      },
    ]),
  )
  const memberships = await queryRows(session, membershipShape, membershipText(serverVersion), [publication, tableIds])
  for (const { tableId, publication: version, members, isPartition } of memberships) {
    Object.assign(found.get(tableId) ?? {}, { publication: version, members, isPartition })
  }
  const partitions = await queryRows(session, partitionShape, partitionText, [tableIds])
  for (const { tableId, id, link, file, identity, isAddedEmpty, isAltered } of partitions) {
    const coverage = found.get(tableId)
    if (!coverage) continue
    coverage.partitions[id] = `${link}/${file}`
    if (identity !== null) coverage.identities[id] = identity
    if (isAddedEmpty) coverage.addedEmpty.push(id)
    if (isAltered) coverage.altered.push(id)
  }
  return found
}

/** A partition is published with its partitioned table. Schemas can be published since PostgreSQL 15. */
function membershipText(serverVersion: number): string {
  const lineage = 'SELECT "table".id UNION SELECT relid::oid FROM pg_partition_ancestors("table".id::regclass)'
  const schemas = `
    UNION ALL SELECT 'schema ' || member.oid || '/' || member.xmin::text
    FROM pg_publication_namespace member
    WHERE member.pnpubid = publication.oid
      AND member.pnnspid IN (SELECT relnamespace FROM pg_class WHERE oid IN (${lineage}))`
  return `
    SELECT "table".id::text AS "tableId", publication.oid || '/' || publication.xmin::text AS publication, ARRAY(
      SELECT 'table ' || member.oid || '/' || member.xmin::text
      FROM pg_publication_rel member
      WHERE member.prpubid = publication.oid AND member.prrelid IN (${lineage})
      UNION ALL SELECT 'all' WHERE publication.puballtables
      ${serverVersion >= 150_000 ? schemas : ''}
      ORDER BY 1
    ) AS members, EXISTS (SELECT FROM (${lineage}) lineage OFFSET 1) AS "isPartition"
    FROM unnest($2::oid[]) AS "table"(id) CROSS JOIN pg_publication publication
    WHERE publication.pubname = $1`
}

/**
 * `isAddedEmpty`: a table created as a partition has an inherited column from the command that created its type; ATTACH PARTITION
 * updates the column entries instead. An attached table was empty if the file that it was created with has no block.
 */
const partitionText = `
  SELECT "table".id::text AS "tableId", part.oid::text AS id, link.xmin::text AS link,
    coalesce(pg_relation_filenode(part.oid), 0)::text AS file,
    CASE WHEN part.relkind <> 'p' THEN part.relreplident::text || coalesce((
      SELECT key.indexrelid || '/' || key.xmin::text FROM pg_index key
      WHERE key.indrelid = part.oid AND key.indisreplident AND part.relreplident = 'i'), '') END AS identity,
    part.xmin <> type.xmin AS "isAltered",
    (part.relkind = 'p' OR pg_relation_filenode(part.oid) = part.oid) AND (
      part.relkind <> 'p' AND pg_relation_size(part.oid) = 0
      OR EXISTS (
        SELECT FROM pg_attribute attribute
        WHERE attribute.attrelid = part.oid AND attribute.attnum > 0 AND attribute.attinhcount > 0
          AND attribute.xmin = type.xmin AND attribute.cmin = type.cmin)
    ) AS "isAddedEmpty"
  FROM unnest($1::oid[]) AS "table"(id), pg_partition_tree("table".id::regclass) node
  JOIN pg_inherits link ON link.inhrelid = node.relid AND link.inhparent = node.parentrelid
  JOIN pg_class part ON part.oid = node.relid
  JOIN pg_type type ON type.oid = part.reltype
  WHERE node.relid::oid <> "table".id`

/** Which changes of partitions make a table differ from its source. */
export type PartitionRule =
  /** For a copy. */
  | 'all'
  /** For a log table, which keeps the rows of removed partitions. */
  | 'added'
  /** For tables that are not loaded. */
  | 'none'

export interface CoverageRules {
  partitionRule: PartitionRule
  /** The sorting key has columns outside of the primary key, which is the replica identity of a new partition. */
  needsIdentity: boolean
}

/** Why changes are missing since `before`; undefined when none are missing. */
export function coverageLoss(
  before: Coverage,
  now: FoundCoverage,
  { partitionRule, needsIdentity }: CoverageRules,
): 'interrupted' | 'unpublished' | 'partitioned' | 'identified' | undefined {
  if (before.members.length === 0) return before.publication === null ? 'unpublished' : 'interrupted'
  if (!isPublishedSince(before, now)) return 'unpublished'
  if (needsIdentity && isOtherIdentity(before, now)) return 'identified'
  if (partitionRule === 'none') return undefined
  const known = new Map(Object.entries(before.partitions))
  const present = new Map(Object.entries(now.partitions))
  const isFilled = [...present].some(([id, version]) => {
    const isAttached = linkOf(known.get(id)) !== linkOf(version)
    return isAttached && !now.addedEmpty.includes(id)
  })
  const isGone = [...known].some(([id, version]) => present.get(id) !== version)
  return isFilled || (isGone && partitionRule === 'all') ? 'partitioned' : undefined
}

function isPublishedSince(before: Coverage, { publication, members, isPartition }: FoundCoverage): boolean {
  if (before.publication !== publication) return false
  // A new member can be the partitioned table; the changes then have its name.
  if (isPartition) return isDeepStrictEqual(before.members, members)
  return before.members.some((one) => members.includes(one))
}

function linkOf(version: string | undefined): string | undefined {
  return version?.split('/')[0]
}

/** With another replica identity before, changes of a partition may have come without the sorting key. */
function isOtherIdentity(before: Coverage, now: FoundCoverage): boolean {
  return Object.entries(now.identities).some(([id, identity]) => {
    const known = before.identities[id]
    return known === undefined ? now.altered.includes(id) : known !== identity
  })
}

export function coverageText({ publication, members, partitions, identities }: Coverage): string {
  return JSON.stringify({ publication, members, partitions, identities } satisfies Coverage)
}

/** Marks the coverage as lost: the table is reloaded as soon as possible. */
export function lostCoverageText(text: string, why: 'unpublished' | 'interrupted'): string {
  const { publication, ...rest } = parseCoverage(text)
  return coverageText({ ...rest, publication: why === 'unpublished' ? null : publication, members: [] })
}

export function parseCoverage(text: string): Coverage {
  return JSON.parse(text) as Coverage
}
