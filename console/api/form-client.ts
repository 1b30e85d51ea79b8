// Sends the changes of one form. Lives as long as the form: what it remembers may have secrets in it.
import type { Answer, Promised, VersionedWriteOptions } from '../../src/client/caller.ts'
import { newIdempotencyKey, pathOf, type Values } from '../../src/client/transport.ts'
import { TransportClient } from '../../src/client/transport-client.ts'
import { errorOfChange } from './unknown-outcome.ts'

const whatToDo =
  'Look whether it was, or press the button again without changing anything: the same request is not done twice.'

export class FormClient extends TransportClient {
  /** What was sent last, until it succeeds. */
  #last: { request: string; idempotencyKey: string } | undefined

  /**
   * The same request again has the same key, so that one whose answer was lost is not done twice. A refusal does not end that: when
   * a repeat is refused (signed out, too many requests), nothing is said about the attempt before it, and Penstock remembers
   * keys of successes only. Another request ends it: to disable, enable and disable again is three changes.
   */
  protected override async call<Result>(
    promised: Promised,
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
