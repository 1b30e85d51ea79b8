import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Pipe } from '../../../src/client/shapes.ts'
import { aboutNumber } from './about-number.ts'
import { emptyDraft } from './pipe-draft.ts'

describe('the explanation of a number', () => {
  const changed = { ...emptyDraft, pipe: {} as Pipe }
  const port = { pointer: 'source/postgres/port' }
  const rows = {
    pointer: 'source/postgres/settings/snapshotNumRowsPerPartition',
    about: 'Rows that are loaded at once.',
  }

  it('has the default of a new pipe, a port without a group separator', () => {
    assert.equal(aboutNumber(port, emptyDraft), 'Default: 5432')
    assert.equal(aboutNumber(rows, emptyDraft), 'Rows that are loaded at once. Default: 100,000')
  })

  it('has no default where a pipe cannot be changed to it by an empty field', () => {
    assert.equal(aboutNumber(port, changed), '')
    const wait = { pointer: 'settings/streaming_max_insert_wait_ms', about: () => 'At the latest.' }
    assert.equal(aboutNumber(wait, changed), 'At the latest. Default: 5000')
  })
})
