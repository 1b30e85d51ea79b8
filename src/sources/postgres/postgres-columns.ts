// What the catalogues of PostgreSQL say about the columns of tables and their types, down to what these are made of.
import { isNumber, isText, isTexts, isTruth, queryRows, type Shape } from './postgres-answer.ts'
import type { PostgresSession } from './postgres-connection.ts'
import type { PostgresType } from './postgres-types.ts'
import { NotPostgres } from './postgres-wire.ts'

export interface FoundColumn {
  name: string
  /** Stays the same when the column is called otherwise. */
  number: number
  type: PostgresType
  /** As Relation messages of the log have it: of a domain its own id. */
  typeId: number
  modifier: number
  /** The transaction that last changed the definition of the column. */
  revision: string
  /** Rows that are older than the column have a value that is stored once, in the catalogue. */
  hasStoredDefault: boolean
  /** Of an enum: `id:label` of its values. */
  labels: string[]
  isNotNull: boolean
  /** Computed by PostgreSQL, which does not replicate it. */
  isGenerated: boolean
  mayRead: boolean
}

interface ColumnRow extends Omit<FoundColumn, 'type' | 'typeId' | 'labels'> {
  tableId: string
  typeId: string
}

const columnShape: Shape<ColumnRow> = {
  tableId: isText,
  name: isText,
  number: isNumber,
  typeId: isText,
  modifier: isNumber,
  revision: isText,
  hasStoredDefault: isTruth,
  isNotNull: isTruth,
  isGenerated: isTruth,
  mayRead: isTruth,
}

/** The columns of each table, in their order, by the id of the table. */
export async function listColumns(session: PostgresSession, tableIds: string[]): Promise<Map<string, FoundColumn[]>> {
  const rows = await queryRows(
    session,
    columnShape,
    `SELECT
      attrelid::text AS "tableId",
      attname::text AS name,
      attnum::int AS number,
      atttypid::text AS "typeId",
      atttypmod AS modifier,
      xmin::text AS revision,
      atthasmissing OR EXISTS (
        SELECT FROM pg_attribute part
        WHERE part.attrelid IN (SELECT relid FROM pg_partition_tree(attribute.attrelid) WHERE isleaf)
          AND part.attname = attribute.attname AND part.atthasmissing
      ) AS "hasStoredDefault",
      attnotnull AS "isNotNull",
      attgenerated <> '' AS "isGenerated",
      has_column_privilege(attrelid, attnum, 'SELECT') AS "mayRead"
    FROM pg_attribute attribute
    WHERE attrelid = ANY ($1::oid[]) AND attnum > 0 AND NOT attisdropped
    ORDER BY attrelid, attnum`,
    [tableIds],
  )
  const types = await loadTypes(session, [...new Set(rows.map(({ typeId }) => typeId))])
  const columns = new Map<string, FoundColumn[]>(tableIds.map((id) => [id, []]))
  for (const { tableId, typeId, isNotNull, ...column } of rows) {
    // First: it ends where types are made of one another in a circle.
    const type = typeOf(types, typeId, column.modifier)
    columns.get(tableId)?.push({
      ...column,
      type,
      typeId: Number(typeId),
      labels: labelsOf(types, typeId),
      isNotNull: isNotNull || forbidsNull(types, typeId),
    })
  }
  return columns
}

interface TypeRow {
  id: string
  name: string
  isBuiltIn: boolean
  /** What a domain is made of; 0 of all others. */
  baseId: string
  baseModifier: number
  isNotNull: boolean
  /** 0 of all that are not arrays. */
  elementId: string
  /** What stands between its values in an array. */
  delimiter: string
  labels: string[]
}

const typeShape: Shape<TypeRow> = {
  id: isText,
  name: isText,
  isBuiltIn: isTruth,
  baseId: isText,
  baseModifier: isNumber,
  isNotNull: isTruth,
  elementId: isText,
  delimiter: isText,
  labels: isTexts,
}

/** The types, and all that they are made of. */
async function loadTypes(session: PostgresSession, ids: string[]): Promise<Map<string, TypeRow>> {
  const rows = await queryRows(
    session,
    typeShape,
    `WITH RECURSIVE used(id) AS (
      SELECT unnest($1::oid[])
      UNION
      SELECT CASE type.typtype WHEN 'd' THEN type.typbasetype ELSE type.typelem END
      FROM used JOIN pg_type type ON type.oid = used.id
      WHERE type.typtype = 'd' OR type.typcategory = 'A'
    )
    SELECT
      type.oid::text AS id,
      type.typname::text AS name,
      type.typnamespace = 'pg_catalog'::regnamespace AS "isBuiltIn",
      type.typbasetype::text AS "baseId",
      type.typtypmod AS "baseModifier",
      type.typnotnull AS "isNotNull",
      CASE WHEN type.typcategory = 'A' AND type.typtype = 'b' AND type.typname NOT IN ('int2vector', 'oidvector')
        THEN type.typelem ELSE 0 END::text AS "elementId",
      type.typdelim::text AS delimiter,
      CASE type.typtype WHEN 'c' THEN ARRAY(
        SELECT 'attributes:' || string_agg(part.attnum || ' ' || part.atttypid, ',' ORDER BY part.attnum)
        FROM pg_attribute part WHERE part.attrelid = type.typrelid AND part.attnum > 0 AND NOT part.attisdropped
      ) ELSE ARRAY(
        SELECT value.oid || ':' || value.enumlabel FROM pg_enum value WHERE value.enumtypid = type.oid ORDER BY value.oid
      ) END AS labels
    FROM used JOIN pg_type type ON type.oid = used.id`,
    [ids],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Domains over domains; what is deeper goes in a circle. */
const deepestType = 64

function typeOf(types: Map<string, TypeRow>, id: string, modifier: number, depth = 0): PostgresType {
  if (depth > deepestType) throw new NotPostgres()
  const type = types.get(id)
  if (!type) return { name: 'unknown', isBuiltIn: true, modifier: -1 }
  const { name, isBuiltIn, baseId, baseModifier, elementId } = type
  if (baseId !== '0') return typeOf(types, baseId, baseModifier, depth + 1)
  const own = { name, isBuiltIn, modifier }
  if (elementId === '0') return own
  const { elements: nested, ...elements } = typeOf(types, elementId, modifier, depth + 1)
  const delimiter = types.get(elementId)?.delimiter ?? ','
  const told = delimiter === ',' ? elements : { ...elements, delimiter }
  return { ...own, elements: nested ? { ...told, isBuiltIn: false } : told }
}

/** Of an enum, or what a composite type has, also of one within an array or a domain. */
function labelsOf(types: Map<string, TypeRow>, id: string): string[] {
  const type = types.get(id)
  if (!type) return []
  const inner = type.baseId === '0' ? type.elementId : type.baseId
  return inner === '0' ? type.labels : labelsOf(types, inner)
}

function forbidsNull(types: Map<string, TypeRow>, id: string): boolean {
  const type = types.get(id)
  return type !== undefined && (type.isNotNull || forbidsNull(types, type.baseId))
}
