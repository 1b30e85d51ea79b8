// API client of the console: the public operations, authenticated by the session cookie instead of a key.
import type { Answer, OperationCall, VersionedWriteOptions } from '../../src/client/caller.ts'
import { Operations } from '../../src/client/operations.ts'
import { envelopeOf, errorOf, isSuccess, pathOf, Transport, type Values } from '../../src/client/transport.ts'
import { TransportClient } from '../../src/client/transport-client.ts'
import { FormClient } from './form-client.ts'
import { errorOfChange } from './unknown-outcome.ts'

let csrfToken = ''

/** CSRF token of the session, sent with every change. */
export function setCsrfToken(token: string): void {
  csrfToken = token
}

const headers = (): Record<string, string> => (csrfToken ? { 'x-csrf-token': csrfToken } : {})
const connection = { url: location.origin, timeoutMs: 30_000 }
const transport = new Transport({ ...connection, retries: 2 }, headers)

/** For requests without side effects. */
export const api = new TransportClient(transport)

/** For reads from an engine: the page shows at once that it is down, and refreshes automatically. */
export const engineApi = new TransportClient(new Transport({ ...connection, retries: 0 }, headers))

export const makeFormClient = (): FormClient => new FormClient(transport)

/** A call of an operation, which can be sent or only shown. */
export type ApiCall<Result = unknown> = (api: Operations) => Promise<Answer<Result>>

export interface ApiRequest {
  method: string
  /** Includes the query. */
  path: string
  body: unknown
  ifMatch: string | undefined
}

class Recorder extends Operations {
  request: ApiRequest | undefined

  protected override call<Result>(
    { method, path }: OperationCall,
    params: Values,
    body: unknown,
    options: VersionedWriteOptions = {},
  ): Promise<Answer<Result>> {
    this.request = { method, path: pathOf({ path, params }), body, ifMatch: options.ifMatch }
    // Never settles, so that the caller stops here.
    return new Promise(() => undefined)
  }
}

/** The request of a call, without sending it. */
export function requestOf(call: ApiCall): ApiRequest {
  const recorder = new Recorder()
  void call(recorder)
  return recorder.request!
}

/** The equivalent curl command with an API key. */
export function curlOf({ method, path, body, ifMatch }: ApiRequest): string {
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  const lines = [`curl -u "$KEY_ID:$KEY_SECRET" -X ${method} ${quote(location.origin + path)}`]
  if (ifMatch !== undefined) lines.push(`-H ${quote(`If-Match: ${ifMatch}`)}`)
  if (body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body, null, 2))}`)
  return lines.join(' \\\n  ')
}

/** Calls a console endpoint (/console/api, not part of the API) without side effects. */
export async function ask<Result>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Result> {
  return sendAction(method, path, body)
}

/** Calls a console endpoint that changes data. These do not support `Idempotency-Key`. */
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
