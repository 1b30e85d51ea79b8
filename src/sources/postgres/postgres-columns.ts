// Queries of the PostgreSQL system catalogs about columns and their types, including base and element types.

import type { PostgresSession } from './postgres-connection.ts'
import { SessionError } from './postgres-messages.ts'
import { isNumber, isText, isTexts, isTruth, queryRows, type Shape } from './postgres-rows.ts'
import type { PostgresType } from './postgres-types.ts'

export interface FoundColumn {
  name: string
  /** `attnum`: stays the same when the column is renamed. */
  number: number
  type: PostgresType
  /** OID as in Relation messages; for a domain, its own. */
  typeId: number
  modifier: number
  /** The transaction that last changed the definition of the column. */
  revision: string
  /** Rows older than the column have a default that is stored in the catalog (`atthasmissing`). */
  hasStoredDefault: boolean
  /** Enum values as `id:label`, or attributes of a composite type. */
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

/** Columns in order, by table OID. */
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
    // First: it throws for a cycle of types.
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
  /** Base type of a domain; otherwise 0. */
  baseId: string
  baseModifier: number
  isNotNull: boolean
  /** Element type of an array; otherwise 0. */
  elementId: string
  /** Separates its values in an array. */
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

/** The types, with their base and element types. */
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

/** Limit of nested domains; deeper nesting is a cycle. */
const deepestType = 64

function typeOf(types: Map<string, TypeRow>, id: string, modifier: number, depth = 0): PostgresType {
  if (depth > deepestType) throw new SessionError('not postgres')
  const type = types.get(id)
  if (!type) return { name: 'unknown', isBuiltIn: true, modifier: -1 }
  const { name, isBuiltIn, baseId, baseModifier, elementId } = type
  if (baseId !== '0') return typeOf(types, baseId, baseModifier, depth + 1)
  const own = { name, isBuiltIn, modifier }
  if (elementId === '0') return own
  const { elements: nested, ...elements } = typeOf(types, elementId, modifier, depth + 1)
  const delimiter = types.get(elementId)?.delimiter ?? ','
  const delimited = delimiter === ',' ? elements : { ...elements, delimiter }
  return { ...own, elements: nested ? { ...delimited, isBuiltIn: false } : delimited }
}

/** Labels of an enum or attributes of a composite type, also within an array or a domain. */
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
