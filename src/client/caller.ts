// Types and base class of the generated client methods.
import type { Call, Values } from './transport.ts'

export interface Answer<Result> {
  result: Result
  /** Version of the resource; send it as `ifMatch` with a change. */
  etag: string | undefined
  /** Id of the request in Penstock's log. */
  requestId: string
  /** Warning about an accepted request. */
  warning: string | undefined
  /** The `cursor` of the next page of a list. */
  next: string | undefined
}

export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface WriteOptions extends CallOptions {
  /** Default: generated for each call. Set it to repeat a call safely after a restart of your own program. */
  idempotencyKey?: string | undefined
}

export interface VersionedWriteOptions extends WriteOptions {
  /** The `etag` that was read: the change is applied only if nobody has changed the resource since. */
  ifMatch?: string | undefined
}

export interface OperationCall {
  method: Call['method']
  path: string
  /** The response is text instead of JSON. */
  text?: true
}

export abstract class Caller {
  protected abstract call<Result>(
    operation: OperationCall,
    params: Values,
    body: unknown,
    options: VersionedWriteOptions | undefined,
  ): Promise<Answer<Result>>
}
