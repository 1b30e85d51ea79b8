// Parquet objects of tests.
import assert from 'node:assert/strict'
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer'
import type { ObjectBytes } from '../../src/formats/decode/decoding.ts'
import { Undecodable } from '../../src/formats/undecodable.ts'

export type WriteOptions = Parameters<typeof parquetWriteBuffer>[0]

export const write = (columnData: ColumnSource[], options: Partial<WriteOptions> = {}): Buffer =>
  Buffer.from(parquetWriteBuffer({ columnData, ...options } as WriteOptions))

export function objectOf(bytes: Uint8Array, key = 'a.parquet'): ObjectBytes & { readBytes: number } {
  return {
    key,
    sizeBytes: bytes.length,
    readBytes: 0,
    async read(start, end) {
      this.readBytes += end - start
      return bytes.subarray(start, end)
    },
  }
}

export async function reasonOf(result: Promise<unknown>): Promise<string> {
  try {
    await result
  } catch (error) {
    assert.ok(error instanceof Undecodable, String((error as Error).stack))
    return error.reason
  }
  return assert.fail('nothing was refused')
}

export const decoding = { compression: 'auto', signal: new AbortController().signal } as const

export const root = (count: number) => ({ name: 'root', num_children: count })
export const three = [1, 2, 3]
