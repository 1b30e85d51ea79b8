import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PenstockError } from '../../src/client/error.ts'
import { Transport } from '../../src/client/transport.ts'
import { FormClient } from './form-client.ts'
import { isOutcomeUnknown } from './unknown-outcome.ts'

type Reply = () => Response

const done: Reply = () => Response.json({ requestId: 'r-1', result: {}, status: 200 })
const lost: Reply = () => {
  throw new TypeError('Failed to fetch')
}
const refused =
  (status: number, code: string): Reply =>
  () =>
    Response.json({ status, code, detail: `about ${code}`, errors: [] }, { status })
const proxyPage: Reply = () => new Response('<h1>Bad gateway</h1>', { status: 502 })

/** A form whose requests get these replies, and the idempotency keys it sent. */
function openForm(...replies: Reply[]) {
  const keys: (string | null)[] = []
  const fetch = async (_url: unknown, { headers }: RequestInit = {}) => {
    keys.push(new Headers(headers).get('idempotency-key'))
    return replies.shift()!()
  }
  const transport = new Transport({ url: 'https://penstock.example', retries: 0, fetch: fetch as never }, () => ({}))
  const client = new FormClient(transport)
  const createKey = (name: string) => client.createKey({ organizationId: '1' }, { name, roles: ['developer'] })
  return { client, keys, createKey }
}

async function errorOf(sent: Promise<unknown>): Promise<PenstockError> {
  const error = await sent.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof PenstockError)
  return error
}

test('a change without a response from Penstock is reported as possibly done', async () => {
  for (const reply of [lost, proxyPage, refused(409, 'idempotency_key_in_use'), refused(503, 'unavailable')]) {
    const error = await errorOf(openForm(reply).createKey('etl'))
    assert.ok(isOutcomeUnknown(error), error.code)
    assert.match(error.message, /^It may have been done\. .*press the button again.* not done twice\. Error: /)
  }
  assert.match((await errorOf(openForm(lost).createKey('etl'))).message, /Failed to fetch\.$/)
})

test('a refusal is reported unchanged', async () => {
  const error = await errorOf(openForm(refused(400, 'invalid_body')).createKey('etl'))
  assert.deepEqual([error.message, error.code, isOutcomeUnknown(error)], ['about invalid_body', 'invalid_body', false])
})

test('the same request again has the same key until it succeeds', async () => {
  const { createKey, keys } = openForm(lost, lost, refused(401, 'unauthorized'), done, done)
  await errorOf(createKey('etl'))
  await errorOf(createKey('etl'))
  // A refusal does not show whether earlier attempts succeeded.
  await errorOf(createKey('etl'))
  await createKey('etl')
  assert.ok(keys[0])
  assert.deepEqual(keys, Array(4).fill(keys[0]))
  await createKey('etl')
  assert.notEqual(keys[4], keys[0])
})

test('another body, path or version gets another key', async () => {
  const { client, createKey, keys } = openForm(lost, lost, lost, lost)
  await errorOf(createKey('etl'))
  await errorOf(createKey('etl 2'))
  await errorOf(client.updateKey({ organizationId: '1', keyId: '2' }, { name: 'etl' }, { ifMatch: '"1"' }))
  await errorOf(client.updateKey({ organizationId: '1', keyId: '2' }, { name: 'etl' }, { ifMatch: '"2"' }))
  assert.equal(new Set(keys).size, 4)
})

test('a change that was undone in between is sent with a new key', async () => {
  const { client, keys } = openForm(lost, done, done)
  const become = (role: 'admin' | 'developer') => client.updateMember({ organizationId: '1', userId: '2' }, { role })
  await errorOf(become('admin'))
  await become('developer')
  await become('admin')
  assert.equal(new Set(keys).size, 3)
})
