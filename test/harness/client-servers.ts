// Servers for the tests of the API client, and its errors.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { PenstockError } from '../../src/client/client.ts'

export async function refusal(promise: Promise<unknown>): Promise<PenstockError> {
  const error: unknown = await promise.then(
    () => assert.fail('should have been refused'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof PenstockError, inspect(error))
  return error
}

export async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function close(server: ReturnType<typeof createServer>): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
