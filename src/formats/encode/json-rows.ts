// Rewrites JSON objects without parsing them into values: copies them unchanged, inserts virtual fields at their beginning, or picks
// values out by their offsets.
import type { Buffer } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'
import { findByPath } from '../decode/field-path.ts'
import {
  byteOrderMarkLength,
  code,
  endOfValue,
  isSpace,
  membersOf,
  nameIn,
  objectsIn,
  skipSpace,
  type TextRange,
  trimEnd,
} from '../json-scan.ts'
import { excerptOf } from '../undecodable.ts'
import type { ByteOutput } from './byte-output.ts'
import { parseType } from './engine-type.ts'
import { type FilledColumn, hasConflictingTypes, shapeByColumn, shapeByField } from './field-plan.ts'
import { makeColumnWriter } from './json-values.ts'
import type { RowShape } from './rows.ts'
import { type VirtualField, valueGetter, virtualFieldsFor, writeVirtualMembers } from './virtual-fields.ts'

/** Writes the objects in a byte range, each followed by a newline. */
export interface JsonRows {
  shape: RowShape
  /** Whether objects are copied unchanged. */
  isStraight: boolean
  /** Why the range cannot be written. For objects copied unchanged, only the first and last bytes are checked. */
  check(bytes: Buffer, start: number, end: number): string | undefined
  /** Why the range does not end with a complete object. */
  checkLast(bytes: Buffer, start: number, end: number): string | undefined
  write(bytes: Buffer, range: TextRange, meta: Row, out: ByteOutput): void
}

export function makeJsonRows(filled: readonly FilledColumn[]): JsonRows {
  const hasPaths = filled.some(({ field, isVirtual }) => !isVirtual && field.includes('.'))
  if (hasPaths || hasConflictingTypes(filled)) return picked(filled)
  const { fields, columns } = virtualFieldsFor(filled)
  const own = shapeByField(
    'JSONEachRow',
    filled.filter(({ isVirtual }) => !isVirtual),
  )
  const shape: RowShape = {
    format: 'JSONEachRow',
    fields: [...own.fields, ...fields.map(({ name, type }) => ({ name, type }))],
    columns: [...own.columns, ...columns],
  }
  const writeObject = fields.length === 0 ? copyObject : splicer(fields)
  return {
    shape,
    isStraight: fields.length === 0,
    check: problemIn,
    checkLast: unclosedIn,
    write(bytes, range, meta, out) {
      const { end } = range
      const first = firstByte(bytes, range.start, end)
      if (first === end) return
      if (bytes[first] === code.openObject && (fields.length === 0 || isOneObject(bytes, first, end))) {
        writeObject(bytes, { start: first, end }, meta, out)
      } else {
        const objects = objectsIn(bytes, first, end) ?? [{ start: first, end }]
        for (const object of objects) writeObject(bytes, object, meta, out)
      }
    },
  }
}

/** First byte that is neither byte order mark nor white space. */
function firstByte(bytes: Buffer, start: number, end: number): number {
  return skipSpace(bytes, start + byteOrderMarkLength(bytes, start), end)
}

/** Checks the first and the last byte. */
function problemIn(bytes: Buffer, start: number, end: number): string | undefined {
  // The common case, checked first because every record passes here.
  if (bytes[start] === code.openObject && bytes[end - 1] === code.closeObject) return undefined
  const first = firstByte(bytes, start, end)
  if (first >= end) return undefined
  if (bytes[first] === code.openObject) {
    const isClosed = bytes[trimEnd(bytes, first, end) - 1] === code.closeObject || endsInComma(bytes, first, end)
    return isClosed ? undefined : `it is a JSON object without its end: it begins with ${startOf(bytes, first, end)}`
  }
  if (bytes[first] !== code.openList) return `it is not a JSON object: it begins with ${startOf(bytes, first, end)}`
  if (objectsIn(bytes, first, end)) return undefined
  return `it is not a list of JSON objects: it begins with ${startOf(bytes, first, end)}`
}

/** The last closing brace may belong to a nested object. */
function unclosedIn(bytes: Buffer, start: number, end: number): string | undefined {
  const first = firstByte(bytes, start, end)
  if (objectsIn(bytes, first, end)) return undefined
  return `the file ends in the middle of a JSON object, which begins with ${startOf(bytes, first, end)}`
}

/** Commas may separate objects, and follow the last one. */
function endsInComma(bytes: Buffer, start: number, end: number): boolean {
  let at = end
  while (at > start && (isSpace(bytes[at - 1]) || bytes[at - 1] === code.comma)) at--
  return bytes[at - 1] === code.closeObject
}

function startOf(bytes: Buffer, start: number, end: number): string {
  return excerptOf(bytes.subarray(start, Math.min(end, start + 100)).toString('utf8'))
}

const newline = 0x0a

type WriteObject = (bytes: Buffer, object: TextRange, meta: Row, out: ByteOutput) => void

const copyObject: WriteObject = (bytes, { start, end }, _meta, out) => {
  out.bytes(bytes, start, end)
  out.byte(newline)
}

/** The first closing brace may belong to a nested object; then the end of the value is searched. */
function isOneObject(bytes: Buffer, start: number, end: number): boolean {
  const trimmed = trimEnd(bytes, start, end)
  const firstClose = bytes.indexOf(code.closeObject, start)
  return firstClose === trimmed - 1 || endOfValue(bytes, start, end) === trimmed
}

function splicer(fields: readonly VirtualField[]): WriteObject {
  const names = new Set(fields.map(({ name }) => name))
  return (bytes, { start, end }, meta, out) => {
    out.byte(code.openObject)
    const hasMembers = writeVirtualMembers(fields, meta, out)
    if (mayHaveName(bytes, start, end)) {
      const members = membersOf(bytes, start, end)
      if (members?.list.some(({ name }) => names.has(nameIn(bytes, name)))) {
        writeOtherMembers(bytes, members.list, names, hasMembers, out)
        return
      }
    }
    const isEmpty = bytes[skipSpace(bytes, start + 1, end)] === code.closeObject
    if (hasMembers && !isEmpty) out.byte(code.comma)
    out.bytes(bytes, start + 1, end)
    out.byte(newline)
  }
}

const underscore = 0x5f

/** Whether a field may have the name of a virtual field: ClickHouse rejects objects with duplicate names. */
function mayHaveName(bytes: Buffer, start: number, end: number): boolean {
  // Searching beyond the object would take quadratic time where names have no underscore.
  const object = bytes.subarray(start, end)
  for (let at = object.indexOf(underscore); at !== -1; at = object.indexOf(underscore, at + 1)) {
    if (object[at - 1] === code.quote) return true
  }
  return false
}

function writeOtherMembers(
  bytes: Buffer,
  members: { name: TextRange; value: TextRange }[],
  names: ReadonlySet<string>,
  hasBefore: boolean,
  out: ByteOutput,
): void {
  let needsComma = hasBefore
  for (const { name, value } of members) {
    if (names.has(nameIn(bytes, name))) continue
    if (needsComma) out.text(',')
    out.bytes(bytes, name.start, value.end)
    needsComma = true
  }
  out.text('}')
  out.byte(newline)
}

/** Rows with fields named after the columns, whose values are picked out of the text. */
function picked(filled: readonly FilledColumn[]): JsonRows {
  const columns = filled.map((column) => ({ label: `${JSON.stringify(column.name)}:`, write: pickedColumn(column) }))
  return {
    shape: shapeByColumn('JSONEachRow', filled),
    isStraight: false,
    check(bytes, start, end) {
      const problem = problemIn(bytes, start, end)
      if (problem !== undefined) return problem
      const areValid = objectsIn(bytes, firstByte(bytes, start, end), end)?.every((object) => isValid(bytes, object))
      return areValid ? undefined : `it is not valid JSON: it begins with ${startOf(bytes, start, end)}`
    },
    checkLast: () => undefined,
    write(bytes, range, meta, out) {
      for (const object of objectsIn(bytes, firstByte(bytes, range.start, range.end), range.end) ?? []) {
        const find = makeFinder(bytes, object)
        let before = '{'
        for (const { label, write } of columns) {
          if (write(bytes, { find, meta, before: `${before}${label}` }, out)) before = ','
        }
        out.text(before === '{' ? '{}' : '}')
        out.byte(newline)
      }
    },
  }
}

/** ClickHouse does not see the values that are not picked, so invalid JSON must be found here. */
function isValid(bytes: Buffer, { start, end }: TextRange): boolean {
  try {
    JSON.parse(bytes.toString('utf8', start, end))
    return true
  } catch {
    return false
  }
}

interface Picking {
  find: Find
  meta: Row
  /** Text before the value, written only with it. */
  before: string
}

/** Returns false when there is nothing to write. */
type PickColumn = (bytes: Buffer, picking: Picking, out: ByteOutput) => boolean

function pickedColumn({ field, type, isVirtual }: FilledColumn): PickColumn {
  if (isVirtual) {
    const writer = makeColumnWriter(type, 'timestamp')
    const valueIn = valueGetter(field, type)
    return (_bytes, { meta, before }, out) => {
      const value = valueIn(meta)
      if (value === null && !writer.mayBeNull) return false
      out.text(before)
      writer.write(value, out)
      return true
    }
  }
  const { name, isNullable } = parseType(type)
  const isText = name === 'String' || name === 'FixedString'
  return (bytes, { find, before }, out) => {
    const value = find(field)
    if (!value) return false
    const first = bytes[value.start]
    const isNull = first === 0x6e
    if (isNull && !isNullable) return false
    out.text(before)
    if (!isText || first === code.quote || isNull) out.bytes(bytes, value.start, value.end)
    else out.quotedBytes(bytes.subarray(value.start, value.end))
    return true
  }
}

/** The byte range of the value at a path. */
type Find = (path: string) => TextRange | undefined

/** Scans each object once, however many columns use it. */
function makeFinder(bytes: Buffer, object: TextRange): Find {
  const known = new Map<number, Map<string, TextRange>>()
  const memberOf = ({ start, end }: TextRange, name: string): TextRange | undefined => {
    let members = known.get(start)
    if (!members) {
      const list = membersOf(bytes, start, end)?.list ?? []
      members = new Map(list.map((member) => [nameIn(bytes, member.name), member.value]))
      known.set(start, members)
    }
    return members.get(name)
  }
  return (path) => findByPath(object, path, memberOf)
}
