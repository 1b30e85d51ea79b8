// Gathers the changes of whole transactions as lines for the tables that they go to. What is gathered, and where it is cut, depends
// on nothing but the log: whoever reads the same piece of it again makes the same inserts.
import { isDeepStrictEqual } from 'node:util'
import { type Relation, type Tuple, tupleKind, type WalVisitor } from '../../sources/postgres/pgoutput.ts'
import { type ChangeLines, makeChangeLines } from './change-lines.ts'
import { checkedValues } from './checked-values.ts'
import type { Target, TargetColumn } from './target.ts'
import { versionOf } from './versions.ts'

/** Lines of one table that have the same columns: one insert. */
export interface Gathered {
  target: Target
  relation: Relation
  /** How many others of the target came before it, since the last time that they were taken. */
  number: number
  /** As the lines were written; the target may have others meanwhile. */
  columns: TargetColumn[]
  keyColumns: string[]
  /** Where in the old row a value must be; undefined where that row is not needed. */
  wholeRowPlaces: number[] | undefined
  lines: ChangeLines
}

/** What cannot go on before something else is done. */
export type Need =
  | { kind: 'relation'; relation: Relation }
  | { kind: 'truncate'; targets: Target[]; version: bigint }
  | ReloadNeed

/** A change does not tell which row of them it means, or which of them. */
export interface ReloadNeed {
  kind: 'reload'
  targets: Target[]
  why: 'identity' | 'ancestor'
  commitLsn: bigint
}

export interface Changes extends WalVisitor {
  readonly isInTransaction: boolean
  /** Of the transaction that is being read, or of the last one. */
  readonly commitLsn: bigint
  /** Since 1970, by the clock of the source. */
  readonly committedAtMs: number
  /** Where the last transaction ends. */
  readonly endLsn: bigint
  /** Since the last time that they were taken. */
  readonly count: number
  readonly rawBytes: number
  readonly isEmpty: boolean
  readonly hasNeed: boolean
  takeNeed(): Need | undefined
  /** As it was last known. */
  findRelation(id: number): Relation | undefined
  /** The shape of a relation is known, and its targets can take it. */
  know(relation: Relation): void
  /** Other targets are filled from now on. */
  lookAgain(): void
  /** Of the log; every message of a change, whoever it is for. */
  addRawBytes(sizeBytes: number): void
  take(): Gathered[]
}

export interface ChangesParts {
  /** Transactions up to it are durable, and passed over. */
  durable(): bigint
  targetsOf(relation: Relation): Target[]
  /** Filled from partitions of that table. */
  partitionsOf(relationId: number): Target[]
}

export function makeChanges({ durable, targetsOf, partitionsOf }: ChangesParts): Changes {
  const relations = new Map<number, Relation>()
  /** By the relation, as its changes come. */
  const gathered = new Map<number, Gathered[]>()
  /** All that there are until they are taken. */
  let taken: Gathered[] = []
  let need: Need | undefined
  let commitLsn = 0n
  let committedAtMs = 0
  let endLsn = 0n
  let numberInTransaction = 0
  let isInTransaction = false
  let isPassedOver = false
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
      return sent ? [takingOf(column, sent)] : []
    })
    const keyColumns = target.keyColumns.length > 0 ? target.keyColumns : identityOf(relation)
    const number = taken.filter((one) => one.target === target).length
    const lines = makeChangeLines(relation, columns, { keyColumns })
    const wholeRowPlaces = wholeRowPlacesOf(target, relation)
    const made = { target, relation, number, columns, keyColumns, wholeRowPlaces, lines }
    taken.push(made)
    return made
  }

  /** What was committed before is in the load. */
  const isFor = ({ target }: Gathered): boolean => commitLsn >= target.beginLsn

  const change = (relationId: number, write: (one: Gathered, version: bigint) => void): void => {
    if (isPassedOver) return
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

  const checkIdentity = ({ target, wholeRowPlaces }: Gathered, before: Tuple | undefined): void => {
    if (!wholeRowPlaces || (before && wholeRowPlaces.every((place) => before.kinds[place] !== tupleKind.null))) return
    need = {
      kind: 'reload',
      targets: [target, ...(need?.kind === 'reload' ? need.targets : [])],
      why: 'identity',
      commitLsn,
    }
  }

  return {
    get isInTransaction() {
      return isInTransaction && !isPassedOver
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
    lookAgain: () => gathered.clear(),
    addRawBytes(sizeBytes) {
      if (isInTransaction && !isPassedOver) rawBytes += sizeBytes
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
      isPassedOver = lsn <= durable()
    },
    commit(_lsn, end) {
      isInTransaction = false
      endLsn = end
    },
    relation(relation) {
      // The server says it again whenever it has looked again, and once for each partition: that is no other shape.
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
      if (isPassedOver) return
      count++
      numberInTransaction++
      const targets = relationIds
        .flatMap((id) => gathered.get(id) ?? gatheredOf(id))
        .filter((one) => isFor(one) && one.target.mapping.tableEngine === 'ReplacingMergeTree')
        .map(({ target }) => target)
      // Also when it concerns no target: what is cut must depend on nothing but the log.
      need = { kind: 'truncate', targets, version: versionOf(commitLsn, numberInTransaction) }
    },
  }
}

/** The column, for values of the type that the relation has. */
function takingOf(column: TargetColumn, sent: Relation['columns'][number]): TargetColumn {
  const isSame = column.typeId === sent.typeId && column.modifier === sent.modifier
  return isSame ? column : { ...column, values: checkedValues(column, sent) }
}

/** A partitioned table says that its old rows are sent, and each partition has a replica identity of its own. */
function wholeRowPlacesOf({ wholeRowColumns }: Target, { identity, columns }: Relation): number[] | undefined {
  if (!wholeRowColumns || identity !== 'full') return undefined
  return wholeRowColumns
    .map((name) => columns.findIndex((column) => column.name === name))
    .filter((place) => place >= 0)
}

function identityOf(relation: Relation): string[] {
  return relation.columns.filter(({ isKey }) => isKey).map(({ name }) => name)
}
