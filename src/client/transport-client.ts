// Operations over a transport that authenticates with an API key or a console session.
import type { Answer, CallOptions, OperationCall, VersionedWriteOptions } from './caller.ts'
import { type ListOperation, Operations } from './operations.ts'
import { envelopeOf, errorOf, isSuccess, nextCursorOf, type Transport, type Values, warningOf } from './transport.ts'

/** Parameters of a list operation. */
export type ListParams<Name extends ListOperation> = NonNullable<Parameters<Operations[Name]>[0]>

/** Item type of a list operation. */
export type ListItem<Name extends ListOperation> = Awaited<ReturnType<Operations[Name]>>['result'][number]

export class TransportClient extends Operations {
  readonly #transport: Transport

  constructor(transport: Transport) {
    super()
    this.#transport = transport
  }

  /** All items of a list, across pages: `for await (const member of client.all('listMembers', { organizationId }))`. */
  async *all<Name extends ListOperation>(
    name: Name,
    params: ListParams<Name>,
    options?: CallOptions,
  ): AsyncGenerator<ListItem<Name>, void, undefined> {
    const list = this[name].bind(this) as (params: object, options?: CallOptions) => Promise<Answer<ListItem<Name>[]>>
    for (let page = await list(params, options); ; page = await list({ ...params, cursor: page.next }, options)) {
      yield* page.result
      if (page.next === undefined) return
    }
  }

  protected async call<Result>(
    { method, path, text }: OperationCall,
    params: Values,
    body: unknown,
    options: VersionedWriteOptions = {},
  ): Promise<Answer<Result>> {
    const { signal, idempotencyKey, ifMatch } = options
    const received = await this.#transport.send({
      method,
      path,
      params,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      idempotencyKey,
      ifMatch,
    })
    if (!isSuccess(received)) throw errorOf(received)
    const { headers } = received
    const { requestId, result } = text
      ? { requestId: headers.get('x-request-id') ?? '', result: received.text }
      : envelopeOf(received)
    return {
      result: result as Result,
      etag: headers.get('etag') ?? undefined,
      requestId,
      warning: warningOf(received),
      next: nextCursorOf(received),
    }
  }
}
