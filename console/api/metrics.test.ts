import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countByState, readMetrics, shownPipeCounts } from './metrics.ts'

const service = (id: string, state: string) => `penstock_service_state{service="${id}",name="s",state="${state}"} 1`
const pipes = (id: string, state: string, count: number) => `penstock_pipes{service="${id}",state="${state}"} ${count}`

describe('the counts of the overview', () => {
  it('count no running pipes of a service that is down, like the list of pipes', () => {
    const metrics = readMetrics(
      [
        ...['failed', 'stopped', 'degraded', 'running'].map((state) => service(state, state)),
        pipes('failed', 'Running', 1),
        pipes('failed', 'Stopped', 2),
        pipes('stopped', 'Running', 4),
        pipes('degraded', 'Running', 8),
        pipes('running', 'Running', 16),
      ].join('\n'),
    )
    assert.deepEqual(countByState(shownPipeCounts(metrics)), [
      ['Waiting', 5],
      ['Stopped', 2],
      ['Running', 24],
    ])
  })
})

describe('rejected rows', () => {
  const rejected = (id: string, rows: number) =>
    `penstock_pipe_rejected_rows{organization="o",service="s",pipe="${id}",name="p"} ${rows}`

  it('are the currently kept ones, not all that were ever rejected', () => {
    const { rejected: found } = readMetrics(
      [
        'penstock_pipe_rows_refused_total{organization="o",service="s",pipe="replayed",name="p"} 1234',
        rejected('replayed', 0),
        rejected('few', 2),
        rejected('many', 30),
      ].join('\n'),
    )
    assert.deepEqual(
      found.map(({ pipeId, rows }) => [pipeId, rows]),
      [
        ['many', 30],
        ['few', 2],
      ],
    )
  })
})
