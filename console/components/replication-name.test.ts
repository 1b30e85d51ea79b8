import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicationName } from '../../src/runner/postgres/names.ts'
import { ownReplicationName } from './replication-name.ts'

test('publication and replication slot have the same names as in the runner', () => {
  const id = '0199a000-0000-7000-8000-000000000001'
  assert.equal(ownReplicationName(id), replicationName(id))
})
