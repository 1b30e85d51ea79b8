// Decompressed stream of an object, and the error when it does not have its declared format.
import { Readable } from 'node:stream'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { decompressedStream } from '../decode/compressed-stream.ts'
import { excerptOf, Undecodable } from '../undecodable.ts'
import type { FilledColumn } from './field-plan.ts'
import type { ObjectToEncode } from './object-format.ts'

export interface ObjectPlan {
  source: ObjectStorageSource
  filled: readonly FilledColumn[]
}

/** Decompressed stream of the whole object. */
export function streamOf({ source }: ObjectPlan, object: ObjectToEncode, signal: AbortSignal): Readable {
  const chunks = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* decompressedStream(await object.open(signal), object.key, source.compression)
    } catch (error) {
      throw explained(error, object)
    }
  }
  return Readable.from(chunks(), { objectMode: false })
}

/** Turns decoding errors into a ProbeFailure, which the user sees. */
export function explained(error: unknown, { key }: Pick<ObjectToEncode, 'key'>): unknown {
  if (!(error instanceof Undecodable)) return error
  return new ProbeFailure({
    step: 'decode',
    code: 'undecodable',
    reason: `the object ${excerptOf(key, 200)} cannot be read: ${error.reason}`,
    remedy: 'set format and compression to what the objects are, or take this one away',
    field: 'format',
  })
}
