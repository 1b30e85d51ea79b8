import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Pipe } from '../../src/client/shapes.ts'
import { deletionAtSource, keepsLog, retainedLogAdvice } from './left-at-source.ts'

type PostgresSource = NonNullable<Pipe['source']['postgres']>

function postgresWith(settings: Partial<PostgresSource['settings']>): PostgresSource {
  return { settings: { replicationMode: 'cdc', ...settings } } as PostgresSource
}

describe('what a postgres pipe leaves at its source', () => {
  const own = postgresWith({})
  const named = postgresWith({ replicationSlotName: 'my_slot' })

  it('is nothing when Penstock created slot and publication', () => {
    assert.equal(
      deletionAtSource({ source: { postgres: own } }),
      'The replication slot and the publication that it made are removed from PostgreSQL.',
    )
    assert.match(retainedLogAdvice(own), /delete the pipe: that drops the slot\.$/)
  })

  it('is a slot that the user has named, which the user must drop', () => {
    assert.equal(
      deletionAtSource({ source: { postgres: named } }),
      'The publication that it made is removed from PostgreSQL. Drop the replication slot my_slot yourself: it is yours and stays, and PostgreSQL keeps its WAL for it until the disk is full.',
    )
    assert.match(retainedLogAdvice(named), /delete the pipe and drop the slot my_slot yourself\.$/)
    assert.doesNotMatch(retainedLogAdvice(named), /that drops the slot/)
  })

  it('is a publication that the user has named', () => {
    const text = deletionAtSource({ source: { postgres: postgresWith({ publicationName: 'my_publication' }) } })
    assert.equal(
      text,
      'The replication slot that it made is removed from PostgreSQL. The publication my_publication is yours and stays.',
    )
  })

  it('is nothing for a load only, and for other kinds', () => {
    const loading: Pick<Pipe, 'source'> = { source: { postgres: postgresWith({ replicationMode: 'snapshot' }) } }
    assert.equal(keepsLog(loading), false)
    assert.equal(deletionAtSource(loading), '')
    assert.equal(deletionAtSource({ source: {} }), '')
  })
})
