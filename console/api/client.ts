// The console is a client of the same operations as everybody else, with the session of its cookie instead of a key.
import type { Answer, Promised, VersionedWriteOptions } from '../../src/client/caller.ts'
import { Operations } from '../../src/client/operations.ts'
import { envelopeOf, errorOf, isSuccess, pathOf, Transport, type Values } from '../../src/client/transport.ts'
import { TransportClient } from '../../src/client/transport-client.ts'
import { FormClient } from './form-client.ts'
import { errorOfChange } from './unknown-outcome.ts'

let csrfToken = ''

/** Told by the session; sent with every change, so that no other site can make one in this person's name. */
export function setCsrfToken(token: string): void {
  csrfToken = token
}

const headers = (): Record<string, string> => (csrfToken ? { 'x-csrf-token': csrfToken } : {})
const transport = new Transport({ url: location.origin, timeoutMs: 30_000, retries: 2 }, headers)

/** For reading, and for what changes nothing. */
export const api = new TransportClient(transport)

export const makeFormClient = (): FormClient => new FormClient(transport)

/** One operation with its parameters, to be sent, or to be shown without being sent. */
export type ApiCall<Result = unknown> = (api: Operations) => Promise<Answer<Result>>

export interface ApiRequest {
  method: string
  /** With the query. */
  path: string
  body: unknown
  ifMatch: string | undefined
}

class Recorder extends Operations {
  request: ApiRequest | undefined

  protected override call<Result>(
    { method, path }: Promised,
    params: Values,
    body: unknown,
    options: VersionedWriteOptions = {},
  ): Promise<Answer<Result>> {
    this.request = { method, path: pathOf({ path, params }), body, ifMatch: options.ifMatch }
    // Never settles: whoever awaits it goes no further.
    return new Promise(() => undefined)
  }
}

/** The request that a call would send. */
export function requestOf(call: ApiCall): ApiRequest {
  const recorder = new Recorder()
  void call(recorder)
  return recorder.request!
}

/** A command for a shell that does the same with an API key. */
export function curlOf({ method, path, body, ifMatch }: ApiRequest): string {
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  const lines = [`curl -u "$KEY_ID:$KEY_SECRET" -X ${method} ${quote(location.origin + path)}`]
  if (ifMatch !== undefined) lines.push(`-H ${quote(`If-Match: ${ifMatch}`)}`)
  if (body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body, null, 2))}`)
  return lines.join(' \\\n  ')
}

/** An endpoint of the console itself (/console/api), which is not part of the API, that changes nothing. */
export async function ask<Result>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Result> {
  return sendAction(method, path, body)
}

/** One that changes something. These know no `Idempotency-Key`. */
export async function act<Result>(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Result> {
  try {
    return await sendAction<Result>(method, path, body)
  } catch (error) {
    throw errorOfChange(error, 'Load the page again to see whether it was, or try again.')
  }
}

async function sendAction<Result>(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body: unknown,
): Promise<Result> {
  const received = await transport.send({
    method,
    path: `/console/api/${path}`,
    params: {},
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  if (!isSuccess(received)) throw errorOf(received)
  return envelopeOf(received).result as Result
}
