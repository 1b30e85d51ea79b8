import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { stopClock } from '../../test/harness/stopped-clock.ts'
import type { AnyOperation } from '../operation/operation.ts'
import { type Authentication, makeAdmission, makeFailureThrottles } from './admission.ts'

it('keeps the count of password failures when many wrong keys are sent', async (t) => {
  stopClock(t)
  const failures = makeFailureThrottles()
  const authentication = { hashSecret: (secret: string) => secret, authenticate: async () => undefined }
  const { admit, isSuspect } = makeAdmission(authentication as unknown as Authentication, {
    failures,
    limiter: undefined,
    countFailure: () => undefined,
  })
  const requestWith = (keyId: string) =>
    ({
      ip: '192.0.2.1',
      headers: { authorization: `Basic ${btoa(`${keyId}:secret`)}` },
      raw: { socket: {} },
      penstock: {},
    }) as unknown as FastifyRequest
  const [password, key] = ['sign-in of somebody', 'the-key-of-somebody']
  while (failures.byPassword.take(password));
  for (let count = 0; count < 50_001; count++) {
    const keyId = count === 0 ? key : `made-up-${count}`
    await admit({} as AnyOperation, requestWith(keyId)).then(
      () => assert.fail(),
      () => undefined,
    )
  }
  assert.equal(failures.byPassword.take(password), false)
  assert.equal(isSuspect(requestWith(key)), true)
})
