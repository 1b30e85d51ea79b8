// Decodes pgoutput messages, protocol version 1, in place: no value is copied and no object is allocated per row. Nothing outside of
// the message is read, whatever its bytes are. Unknown messages are errors.
import { Buffer } from 'node:buffer'

export interface Relation {
  id: number
  schema: string
  table: string
  identity: 'default' | 'nothing' | 'full' | 'index'
  columns: { name: string; isKey: boolean; typeId: number; modifier: number }[]
}

/** The values of a row in PostgreSQL's text format. The object is reused: it is valid until the next message is decoded. */
export interface Tuple {
  bytes: Buffer
  count: number
  /** Values of `tupleKind`. */
  kinds: Uint8Array
  starts: Uint32Array
  ends: Uint32Array
}

export const tupleKind = {
  null: 0x6e,
  /** An unchanged TOAST value, which the server does not send. */
  unchanged: 0x75,
  text: 0x74,
} as const

export interface WalVisitor {
  begin(commitLsn: bigint, committedAtMs: number): void
  commit(commitLsn: bigint, endLsn: bigint): void
  relation(relation: Relation): void
  insert(relationId: number, after: Tuple): void
  /** `before`: the old key or the whole old row, if the server sent it. */
  update(relationId: number, after: Tuple, before: Tuple | undefined, beforeIs: 'key' | 'row' | undefined): void
  delete(relationId: number, before: Tuple, beforeIs: 'key' | 'row'): void
  truncate(relationIds: number[]): void
}

/** A message that is not valid pgoutput. */
export class UndecodableWal extends Error {
  constructor(what: string) {
    super(`a change cannot be decoded: ${what}`)
    this.name = 'UndecodableWal'
  }
}

export interface Scratch {
  after: Tuple
  before: Tuple
}

const nothing = Buffer.alloc(0)
/** PostgreSQL allows 1600. */
const mostColumns = 1664

export function makeScratch(): Scratch {
  return { after: makeTuple(), before: makeTuple() }
}

function makeTuple(): Tuple {
  return {
    bytes: nothing,
    count: 0,
    kinds: new Uint8Array(mostColumns),
    starts: new Uint32Array(mostColumns),
    ends: new Uint32Array(mostColumns),
  }
}

const code = (letter: string): number => letter.charCodeAt(0)
const [beginCode, commitCode, relationCode, insertCode] = [code('B'), code('C'), code('R'), code('I')]
const [updateCode, deleteCode, truncateCode] = [code('U'), code('D'), code('T')]
const [originCode, typeCode] = [code('O'), code('Y')]
const [newCode, keyCode, oldCode] = [code('N'), code('K'), code('O')]

/** Throws UndecodableWal. */
export function decodeMessage(bytes: Buffer, start: number, end: number, visitor: WalVisitor, scratch: Scratch): void {
  if (start >= end) throw new UndecodableWal('a message is empty')
  const kind = bytes[start]
  if (kind === insertCode) decodeInsert(bytes, start + 1, end, visitor, scratch)
  else if (kind === updateCode) decodeUpdate(bytes, start + 1, end, visitor, scratch)
  else if (kind === deleteCode) decodeDelete(bytes, start + 1, end, visitor, scratch)
  else decodeOther(kind, new Fields(bytes, start + 1, end), visitor)
}

function decodeOther(kind: number | undefined, fields: Fields, visitor: WalVisitor): void {
  if (kind === beginCode) decodeBegin(fields, visitor)
  else if (kind === commitCode) decodeCommit(fields, visitor)
  else if (kind === relationCode) decodeRelation(fields, visitor)
  else if (kind === truncateCode) decodeTruncate(fields, visitor)
  else if (kind !== originCode && kind !== typeCode) throw new UndecodableWal('a message is of no known kind')
}

function decodeInsert(bytes: Buffer, start: number, end: number, visitor: WalVisitor, { after }: Scratch): void {
  const relationId = int32(bytes, start, end)
  if (byteAt(bytes, start + 4, end) !== newCode) throw new UndecodableWal('an insert has no row')
  atEnd(readTuple(bytes, start + 5, end, after), end)
  visitor.insert(relationId, after)
}

function decodeUpdate(bytes: Buffer, start: number, end: number, visitor: WalVisitor, scratch: Scratch): void {
  const { after, before } = scratch
  const relationId = int32(bytes, start, end)
  let at = start + 4
  let beforeIs: 'key' | 'row' | undefined
  if (byteAt(bytes, at, end) !== newCode) {
    beforeIs = readBeforeIs(bytes, at, end)
    at = readTuple(bytes, at + 1, end, before)
  }
  if (byteAt(bytes, at, end) !== newCode) throw new UndecodableWal('an update has no row')
  atEnd(readTuple(bytes, at + 1, end, after), end)
  visitor.update(relationId, after, beforeIs && before, beforeIs)
}

function decodeDelete(bytes: Buffer, start: number, end: number, visitor: WalVisitor, { before }: Scratch): void {
  const relationId = int32(bytes, start, end)
  const beforeIs = readBeforeIs(bytes, start + 4, end)
  atEnd(readTuple(bytes, start + 5, end, before), end)
  visitor.delete(relationId, before, beforeIs)
}

function readBeforeIs(bytes: Buffer, at: number, end: number): 'key' | 'row' {
  const byte = byteAt(bytes, at, end)
  if (byte === keyCode) return 'key'
  if (byte === oldCode) return 'row'
  throw new UndecodableWal('a change has neither a key nor a row')
}

/** Returns the end offset. */
function readTuple(bytes: Buffer, start: number, end: number, tuple: Tuple): number {
  if (start + 2 > end) throw new UndecodableWal('a message is too short')
  const count = (bytes[start]! << 8) | bytes[start + 1]!
  if (count > mostColumns) throw new UndecodableWal('a row has too many columns')
  const { kinds, starts, ends } = tuple
  let at = start + 2
  for (let index = 0; index < count; index++) {
    const kind = byteAt(bytes, at, end)
    at += 1
    if (kind === tupleKind.text) {
      const sizeBytes = int32(bytes, at, end)
      at += 4
      starts[index] = at
      at += sizeBytes
      if (at > end) throw new UndecodableWal('a message is too short')
      ends[index] = at
    } else if (kind !== tupleKind.null && kind !== tupleKind.unchanged) {
      throw new UndecodableWal('a value is of no known kind')
    }
    kinds[index] = kind
  }
  tuple.bytes = bytes
  tuple.count = count
  return at
}

/** Unsigned. */
function int32(bytes: Buffer, at: number, end: number): number {
  if (at + 4 > end) throw new UndecodableWal('a message is too short')
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}

function byteAt(bytes: Buffer, at: number, end: number): number {
  if (at >= end) throw new UndecodableWal('a message is too short')
  return bytes[at]!
}

function atEnd(at: number, end: number): void {
  if (at !== end) throw new UndecodableWal('a message is too long')
}

/** Reads the fields of rare messages. */
class Fields {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  #take(sizeBytes: number): number {
    const at = this.#at
    if (at + sizeBytes > this.#end) throw new UndecodableWal('a message is too short')
    this.#at = at + sizeBytes
    return at
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  count(): number {
    return this.#bytes.readUInt16BE(this.#take(2))
  }

  id(): number {
    return this.#bytes.readUInt32BE(this.#take(4))
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#take(4))
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8))
  }

  lsn(): bigint {
    return this.#bytes.readBigUInt64BE(this.#take(8))
  }

  text(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    if (end < 0 || end >= this.#end) throw new UndecodableWal('a name has no end')
    const text = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  finish(): void {
    atEnd(this.#at, this.#end)
  }
}

/** PostgreSQL counts microseconds from the year 2000. */
const epochMs = Date.UTC(2000, 0, 1)

function decodeBegin(fields: Fields, visitor: WalVisitor): void {
  const commitLsn = fields.lsn()
  const committedAtMs = epochMs + Number(fields.int64() / 1000n)
  fields.id()
  fields.finish()
  visitor.begin(commitLsn, committedAtMs)
}

function decodeCommit(fields: Fields, visitor: WalVisitor): void {
  fields.byte()
  const [commitLsn, endLsn] = [fields.lsn(), fields.lsn()]
  fields.int64()
  fields.finish()
  visitor.commit(commitLsn, endLsn)
}

const identities = new Map<number, Relation['identity']>([
  [code('d'), 'default'],
  [code('n'), 'nothing'],
  [code('f'), 'full'],
  [code('i'), 'index'],
])

function decodeRelation(fields: Fields, visitor: WalVisitor): void {
  const id = fields.id()
  // pgoutput sends an empty schema for pg_catalog.
  const schema = fields.text() || 'pg_catalog'
  const table = fields.text()
  const identity = identities.get(fields.byte())
  if (!identity) throw new UndecodableWal('a table has no known replica identity')
  const count = fields.count()
  if (count > mostColumns) throw new UndecodableWal('a table has too many columns')
  const columns = Array.from({ length: count }, () => ({
    isKey: (fields.byte() & 1) === 1,
    name: fields.text(),
    typeId: fields.id(),
    modifier: fields.int32(),
  }))
  fields.finish()
  visitor.relation({ id, schema, table, identity, columns })
}

function decodeTruncate(fields: Fields, visitor: WalVisitor): void {
  const count = fields.id()
  fields.byte()
  const relationIds: number[] = []
  // With an invalid count, the message ends first, which is an error.
  for (let index = 0; index < count; index++) relationIds.push(fields.id())
  fields.finish()
  visitor.truncate(relationIds)
}
