// Metadata of a rejected row as text. Values that JSON does not have are tagged, so that they differ from objects of the source.
import { Buffer } from 'node:buffer'
import { isObject } from '../../lib/merge-patch.ts'

type Packed = null | boolean | number | string | Packed[] | { [kind: string]: unknown }

export function packMeta(value: unknown): string {
  return JSON.stringify(pack(value))
}

/** Throws when `packMeta` did not write the text. */
export function unpackMeta(text: string): unknown {
  return unpack(JSON.parse(text))
}

function pack(value: unknown): Packed {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return { bigint: String(value) }
  if (value instanceof Date) return { date: value.getTime() }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(pack)
  if (typeof value !== 'object') return value as boolean | number | string
  return { object: Object.fromEntries(Object.entries(value).map(([name, member]) => [name, pack(member)])) }
}

function unpack(packed: unknown): unknown {
  if (Array.isArray(packed)) return packed.map(unpack)
  if (!isObject(packed)) return packed
  if (typeof packed.bigint === 'string') return BigInt(packed.bigint)
  if (typeof packed.date === 'number') return new Date(packed.date)
  if (typeof packed.bytes === 'string') return Buffer.from(packed.bytes, 'base64')
  return Object.fromEntries(Object.entries(packed.object ?? {}).map(([name, member]) => [name, unpack(member)]))
}
