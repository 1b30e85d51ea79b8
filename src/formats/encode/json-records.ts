// Format of JSON records: each holds one object, several, or a list of objects.
import { Buffer } from 'node:buffer'
import { asBuffer } from '../../lib/as-buffer.ts'
import { decompress } from '../decode/compressed-record.ts'
import { Undecodable } from '../undecodable.ts'
import { coalesceCopies } from './coalesce-copies.ts'
import type { FilledColumn } from './field-plan.ts'
import { type JsonRows, makeJsonRows } from './json-rows.ts'
import type { InPlace, RecordFormat } from './record-format.ts'
import type { SourceRecord } from './record-list.ts'

/** Decompresses a record value where necessary. Throws Undecodable. */
export type Unpack = (value: Uint8Array) => Uint8Array

export function jsonRecords(filled: readonly FilledColumn[], unpack: Unpack): RecordFormat {
  const rows = makeJsonRows(filled)
  const needsMeta = filled.some(({ isVirtual }) => isVirtual)
  return {
    shape: rows.shape,
    check(record) {
      try {
        const bytes = asBuffer(unpack(record.value))
        return rows.check(bytes, 0, bytes.length)
      } catch (error) {
        if (error instanceof Undecodable) return error.reason
        throw error
      }
    },
    write(record, out) {
      const bytes = asBuffer(unpack(record.value))
      rows.write(bytes, { start: 0, end: bytes.length }, needsMeta ? record.meta : noMeta, out)
    },
    // Values that are copied unchanged are copied straight from the fetched bytes.
    ...(rows.isStraight && unpack === unpackNothing && { inPlace: jsonInPlace(rows) }),
  }
}

function jsonInPlace({ check, write }: JsonRows): InPlace {
  return {
    check,
    writeSome(bytes, { starts, ends }, { first, end }, out) {
      const copiedEnd = coalesceCopies(bytes, { starts, ends, first, end }, out)
      if (copiedEnd > first) return copiedEnd
      write(bytes, { start: starts[first]!, end: ends[first]! }, noMeta, out)
      return first + 1
    },
  }
}

/** A constant, because each access to `meta` of a record builds a new object. */
const noMeta: SourceRecord['meta'] = {}

const maxUnpackedBytes = 32 * 1024 * 1024

/** Magic bytes of an aggregated record of the Kinesis Producer Library. */
const aggregated = Buffer.from('f3899ac2', 'hex')

/** Producers compress Kinesis records individually, or not at all. */
export const unpackKinesis: Unpack = (value) => {
  // `{` and `[` are no magic bytes of a compression format.
  if (value[0] === 0x7b || value[0] === 0x5b) return value
  if (aggregated.equals(value.subarray(0, aggregated.length))) {
    throw new Undecodable('it is many records that the Kinesis Producer Library has made one of')
  }
  const unpacked = decompress(value, maxUnpackedBytes)
  if (unpacked === 'too large') throw new Undecodable('it is larger than 32 MiB when it is decompressed')
  if (unpacked instanceof Uint8Array) return unpacked
  throw new Undecodable(`it begins as ${unpacked.broken} does, but cannot be decompressed`)
}

export const unpackNothing: Unpack = (value) => value
