import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { StoredPipe } from '../pipes/pipe.ts'
import { NotConnected, ProbeFailure } from '../source-shapes/source-failure.ts'
import { readerError } from '../sources/object-storage/object-reader.ts'
import { classifyFailure } from './classify-failure.ts'

const pipe = { kind: 'kafka', source: { brokers: 'kafka.example.com:9092' } } as unknown as StoredPipe
const broken = 'Kafka at kafka.example.com:9092 cannot be reached, or broke the connection off'

it('a failure to connect contains the result of the probe, if there is one', () => {
  const reason = 'the host name kafka.example.com does not resolve'
  const failure = new ProbeFailure({ step: 'connect', code: 'host_unknown', reason, remedy: 'check the name' })
  assert.deepEqual(classifyFailure(new NotConnected(), pipe), { kind: 'passing', reason: broken })
  assert.deepEqual(classifyFailure(readerError(failure), pipe), { kind: 'passing', reason: `${broken}: ${reason}` })
  const answer = { step: 'read', code: 'source_failed', reason: 'the source is full', remedy: 'empty it' } as const
  const expected = { kind: 'passing', reason: 'the source is full; empty it' }
  assert.deepEqual(classifyFailure(new NotConnected(undefined, new ProbeFailure(answer)), pipe), expected)
})
