// Sends the changes of one form. Lives only as long as the form, because the remembered request may contain secrets.
import type { Answer, OperationCall, VersionedWriteOptions } from '../../src/client/caller.ts'
import { newIdempotencyKey, pathOf, type Values } from '../../src/client/transport.ts'
import { TransportClient } from '../../src/client/transport-client.ts'
import { errorOfChange } from './unknown-outcome.ts'

const whatToDo =
  'Look whether it was, or press the button again without changing anything: the same request is not done twice.'

export class FormClient extends TransportClient {
  /** The last request, until it succeeds. */
  #last: { request: string; idempotencyKey: string } | undefined

  /**
   * The same request gets the same idempotency key, so that a request whose response was lost is not applied twice. A refusal keeps
   * the key: a refused repeat (signed out, too many requests) does not show whether the earlier attempt succeeded, and Penstock
   * stores keys of successes only. A different request gets a new key: disable, enable and disable again are three changes.
   */
  protected override async call<Result>(
    promised: OperationCall,
    params: Values,
    body: unknown,
    options: VersionedWriteOptions = {},
  ): Promise<Answer<Result>> {
    const path = pathOf({ path: promised.path, params })
    const request = JSON.stringify([promised.method, path, body, options.ifMatch])
    const sent = this.#last?.request === request ? this.#last : { request, idempotencyKey: newIdempotencyKey() }
    this.#last = sent
    try {
      const answer = await super.call<Result>(promised, params, body, {
        ...options,
        idempotencyKey: sent.idempotencyKey,
      })
      if (this.#last === sent) this.#last = undefined
      return answer
    } catch (error) {
      throw errorOfChange(error, whatToDo)
    }
  }
}
