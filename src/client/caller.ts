// What the generated methods are made of: how they are called, what they answer, and the one step they all go through.
import type { Call, Values } from './transport.ts'

export interface Answer<Result> {
  result: Result
  /** The version of what was answered, to be sent as `ifMatch` with a change. */
  etag: string | undefined
  /** The log of Penstock has the request under this id. */
  requestId: string
  /** What is unusual about a request that was accepted. */
  warning: string | undefined
  /** Of a list that goes on: the `cursor` of the next page. */
  next: string | undefined
}

export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface WriteOptions extends CallOptions {
  /** Made up for each call unless told. Tell it to repeat a call safely after a restart of your own program. */
  idempotencyKey?: string | undefined
}

export interface VersionedWriteOptions extends WriteOptions {
  /** The `etag` that was read: change only if nobody else has changed it since. */
  ifMatch?: string | undefined
}

export interface Promised {
  method: Call['method']
  path: string
  /** Answers with text instead of JSON. */
  text?: true
}

export abstract class Caller {
  protected abstract call<Result>(
    promised: Promised,
    params: Values,
    body: unknown,
    options: VersionedWriteOptions | undefined,
  ): Promise<Answer<Result>>
}
