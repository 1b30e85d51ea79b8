import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PipeTable } from '../progress.ts'
import type { TableProgress } from './store.ts'
import { tableMetrics } from './table-metrics.ts'

const begin = Date.parse('2026-11-02T10:00:00.000Z')
const at = (seconds: number): string => new Date(begin + seconds * 1000).toISOString()

const loading: TableProgress = {
  targetTable: 'orders',
  sourceSchemaName: 'public',
  sourceTable: 'orders',
  replaces: null,
  phase: 'snapshot',
  rowsEstimated: 1000,
  rowsLoaded: 250,
  rangeCount: 10,
  rangesDone: 1,
  loadStartedAt: at(0),
}
const mapping = {
  sourceSchemaName: 'public',
  sourceTable: 'orders',
  targetTable: 'orders',
  tableEngine: 'ReplacingMergeTree' as const,
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}

function shown(
  table: Partial<TableProgress>,
  { replicationMode = 'cdc' as 'cdc' | 'snapshot' | 'cdc_only', isWorkedOn = true, seconds = 60 } = {},
): PipeTable {
  const source = { tableMappings: [mapping], settings: { replicationMode } }
  return tableMetrics(source, [{ ...loading, ...table }], { now: at(seconds), isWorkedOn })[0]!
}

describe('load progress of a table', () => {
  it('is a fraction of the estimated rows, and the remaining time at the same pace', () => {
    const { state, percent, secondsLeft } = shown({})
    assert.deepEqual([state, percent, secondsLeft], ['loading', 25, 180])
    assert.equal(shown({ rowsLoaded: 333 }).percent, 33.3)
  })

  it('is a fraction of the ranges without an estimate', () => {
    assert.equal(shown({ rowsEstimated: null, rangesDone: 3 }).percent, 30)
    assert.equal(shown({ rowsEstimated: 0, rangesDone: 5 }).secondsLeft, 60)
  })

  it('is below 100 percent until the last range is done, however wrong the estimate is', () => {
    assert.equal(shown({ rowsLoaded: 5000, rangesDone: 9 }).percent, 99)
    assert.equal(shown({ rowsLoaded: 500, rangesDone: 10, phase: 'swapping' }).percent, 100)
    assert.equal(shown({ rowsLoaded: 0, rangeCount: 0, rangesDone: 0 }).percent, 100)
  })

  it('has no remaining time before the first range, and without a worker', () => {
    assert.equal(shown({ rowsLoaded: 0, rangesDone: 0 }).secondsLeft, null)
    assert.equal(shown({}, { isWorkedOn: false }).secondsLeft, null)
    assert.equal(shown({ rangesDone: 10 }).secondsLeft, null)
    assert.equal(shown({}, { seconds: -5 }).secondsLeft, 0, 'a clock that was set back')
  })

  it('has a state', () => {
    assert.equal(shown({ rangeCount: null }).state, 'waiting')
    assert.equal(shown({ phase: 'swapping' }).state, 'loading')
    assert.equal(shown({ phase: 'following' }).state, 'following')
    assert.equal(shown({ phase: 'following' }, { replicationMode: 'snapshot' }).state, 'loaded')
    assert.equal(shown({ phase: 'following' }).percent, 100)
    assert.equal(shown({ phase: 'following', rangeCount: null }, { replicationMode: 'cdc_only' }).percent, null)
  })
})
