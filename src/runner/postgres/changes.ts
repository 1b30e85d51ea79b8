// Collects the changes of whole transactions as lines per target table. Contents and cuts depend only on the log, so reading the same
// part of it again makes the same inserts.
import { isDeepStrictEqual } from 'node:util'
import { type Relation, type Tuple, tupleKind, type WalVisitor } from '../../sources/postgres/pgoutput.ts'
import { type ChangeLines, makeChangeLines } from './change-lines.ts'
import { checkedValues } from './checked-values.ts'
import { versionOf } from './row-version.ts'
import type { Target, TargetColumn } from './target.ts'

/** Lines of one table with the same columns: one insert. */
export interface Gathered {
  target: Target
  relation: Relation
  /** Its number among those of the same target since the last `take`, from 0. */
  number: number
  /** Columns of the lines; those of the target may have changed since. */
  columns: TargetColumn[]
  keyColumns: string[]
  /** Indexes of values that the old row must have; undefined when the old row is not needed. */
  wholeRowIndexes: number[] | undefined
  lines: ChangeLines
}

/** An action that must be done before the next message is decoded. */
export type Need =
  | { kind: 'relation'; relation: Relation }
  | { kind: 'truncate'; targets: Target[]; version: bigint }
  | ReloadNeed

/** A change does not identify its row (`identity`) or its partition (`ancestor`): the targets must be reloaded. */
export interface ReloadNeed {
  kind: 'reload'
  targets: Target[]
  why: 'identity' | 'ancestor'
  commitLsn: bigint
}

export interface Changes extends WalVisitor {
  readonly isInTransaction: boolean
  /** Of the current transaction, or of the last one. */
  readonly commitLsn: bigint
  /** Unix time by the clock of the source. */
  readonly committedAtMs: number
  /** End of the last transaction. */
  readonly endLsn: bigint
  /** Since the last `take`. */
  readonly count: number
  readonly rawBytes: number
  readonly isEmpty: boolean
  readonly hasNeed: boolean
  takeNeed(): Need | undefined
  /** Its last known definition. */
  findRelation(id: number): Relation | undefined
  /** Sets the definition of a relation, for which its targets are ready. */
  know(relation: Relation): void
  /** Drops cached targets: other ones are filled from now on. */
  targetsChanged(): void
  /** Size of a change message in the log, whether or not it has a target. */
  addRawBytes(sizeBytes: number): void
  take(): Gathered[]
}

export interface ChangesParts {
  /** Transactions up to this LSN are durable and are skipped. */
  durable(): bigint
  targetsOf(relation: Relation): Target[]
  /** Targets filled from partitions of that table. */
  partitionsOf(relationId: number): Target[]
}

export function makeChanges({ durable, targetsOf, partitionsOf }: ChangesParts): Changes {
  const relations = new Map<number, Relation>()
  /** By relation id. */
  const gathered = new Map<number, Gathered[]>()
  /** Everything since the last `take`. */
  let taken: Gathered[] = []
  let need: Need | undefined
  let commitLsn = 0n
  let committedAtMs = 0
  let endLsn = 0n
  let numberInTransaction = 0
  let isInTransaction = false
  let isSkipped = false
  let count = 0
  let rawBytes = 0

  const gatheredOf = (relationId: number): Gathered[] => {
    const relation = relations.get(relationId)
    const made = relation ? targetsOf(relation).map((target) => gather(target, relation)) : []
    gathered.set(relationId, made)
    return made
  }

  const gather = (target: Target, relation: Relation): Gathered => {
    const known = taken.find((one) => one.target === target && one.relation === relation)
    if (known) return known
    const columns = target.columns.flatMap((column) => {
      const sent = relation.columns.find(({ name }) => name === column.name)
      return sent ? [withTypeOf(column, sent)] : []
    })
    const keyColumns = target.keyColumns.length > 0 ? target.keyColumns : identityOf(relation)
    const number = taken.filter((one) => one.target === target).length
    const lines = makeChangeLines(relation, columns, { keyColumns })
    const wholeRowIndexes = wholeRowIndexesOf(target, relation)
    const made = { target, relation, number, columns, keyColumns, wholeRowIndexes, lines }
    taken.push(made)
    return made
  }

  /** Changes committed before `beginLsn` are in the load. */
  const isFor = ({ target }: Gathered): boolean => commitLsn >= target.beginLsn

  const change = (relationId: number, write: (one: Gathered, version: bigint) => void): void => {
    if (isSkipped) return
    count++
    numberInTransaction++
    const all = gathered.get(relationId) ?? gatheredOf(relationId)
    if (all.length === 0) {
      const targets = partitionsOf(relationId)
      if (targets.length > 0) need = { kind: 'reload', targets, why: 'ancestor', commitLsn }
      return
    }
    const version = versionOf(commitLsn, numberInTransaction)
    for (const one of all) if (isFor(one)) write(one, version)
  }

  const checkIdentity = ({ target, wholeRowIndexes }: Gathered, before: Tuple | undefined): void => {
    if (!wholeRowIndexes || (before && wholeRowIndexes.every((index) => before.kinds[index] !== tupleKind.null))) return
    need = {
      kind: 'reload',
      targets: [target, ...(need?.kind === 'reload' ? need.targets : [])],
      why: 'identity',
      commitLsn,
    }
  }

  return {
    get isInTransaction() {
      return isInTransaction && !isSkipped
    },
    get commitLsn() {
      return commitLsn
    },
    get committedAtMs() {
      return committedAtMs
    },
    get endLsn() {
      return endLsn
    },
    get count() {
      return count
    },
    get rawBytes() {
      return rawBytes
    },
    get isEmpty() {
      return count === 0
    },
    get hasNeed() {
      return need !== undefined
    },
    takeNeed() {
      const now = need
      need = undefined
      return now
    },
    findRelation: (id) => relations.get(id),
    know(relation) {
      relations.set(relation.id, relation)
      gathered.delete(relation.id)
    },
    targetsChanged: () => gathered.clear(),
    addRawBytes(sizeBytes) {
      if (isInTransaction && !isSkipped) rawBytes += sizeBytes
    },
    take() {
      const all = taken
      taken = []
      gathered.clear()
      count = 0
      rawBytes = 0
      return all
    },
    begin(lsn, atMs) {
      commitLsn = lsn
      committedAtMs = atMs
      numberInTransaction = 0
      isInTransaction = true
      isSkipped = lsn <= durable()
    },
    commit(_lsn, end) {
      isInTransaction = false
      endLsn = end
    },
    relation(relation) {
      // The server repeats an unchanged relation, for example once for each partition.
      if (isDeepStrictEqual(relations.get(relation.id), relation)) return
      need = { kind: 'relation', relation }
    },
    insert: (relationId: number, after: Tuple) =>
      change(relationId, ({ lines }, version) => lines.insert(after, version)),
    update: (relationId: number, after: Tuple, before: Tuple | undefined, beforeIs: 'key' | 'row' | undefined) =>
      change(relationId, (one, version) => {
        checkIdentity(one, before)
        one.lines.update(after, before, beforeIs, version)
      }),
    delete: (relationId: number, before: Tuple) =>
      change(relationId, (one, version) => {
        checkIdentity(one, before)
        one.lines.delete(before, version)
      }),
    truncate(relationIds) {
      if (isSkipped) return
      count++
      numberInTransaction++
      const targets = relationIds
        .flatMap((id) => gathered.get(id) ?? gatheredOf(id))
        .filter((one) => isFor(one) && one.target.mapping.tableEngine === 'ReplacingMergeTree')
        .map(({ target }) => target)
      // Also without a target: cuts must depend only on the log.
      need = { kind: 'truncate', targets, version: versionOf(commitLsn, numberInTransaction) }
    },
  }
}

/** The column, adapted to values of the type that the relation has. */
function withTypeOf(column: TargetColumn, sent: Relation['columns'][number]): TargetColumn {
  const isSame = column.typeId === sent.typeId && column.modifier === sent.modifier
  return isSame ? column : { ...column, values: checkedValues(column, sent) }
}

/** A partitioned table may report REPLICA IDENTITY FULL while one of its partitions has another replica identity. */
function wholeRowIndexesOf({ wholeRowColumns }: Target, { identity, columns }: Relation): number[] | undefined {
  if (!wholeRowColumns || identity !== 'full') return undefined
  return wholeRowColumns
    .map((name) => columns.findIndex((column) => column.name === name))
    .filter((index) => index >= 0)
}

function identityOf(relation: Relation): string[] {
  return relation.columns.filter(({ isKey }) => isKey).map(({ name }) => name)
}
