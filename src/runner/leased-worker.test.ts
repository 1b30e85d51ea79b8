import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextLoopIteration } from 'node:timers/promises'
import { until } from '../../test/fakes/fake-workers.ts'
import { Log } from '../lib/log.ts'
import { NotConnected } from '../source-shapes/source-failure.ts'
import type { Configuration } from './configuration.ts'
import { internalError, LeasedWorker, type LeasedWorkerEnd, type WorkerOrder } from './leased-worker.ts'
import { checkTransition, type ModeName } from './leased-worker-mode.ts'
import type { Worker, WorkerEnd } from './worker.ts'

/** The second worker with configuration B is named B2. */
interface ScriptedWorker {
  order: WorkerOrder
  prepared: PromiseWithResolvers<void>
  ended: PromiseWithResolvers<WorkerEnd>
}

function configurationOf(digest: string, version: number): Configuration {
  return { digest, pipe: { version, kind: 'kafka' } } as Configuration
}

/** A leased worker with configuration A, whose workers do what the steps say. */
class Script {
  readonly calls: string[] = []
  /** Each state that was reported, once. */
  readonly reported: string[] = []
  readonly leased: LeasedWorker
  readonly #workers = new Map<string, ScriptedWorker>()
  #version = 1
  end: LeasedWorkerEnd | undefined

  constructor(backOffMs = 1) {
    this.leased = new LeasedWorker({
      lease: { organizationId: 'o', pipeId: 'p', workerIndex: 0, epoch: 1 },
      workerCount: 1,
      configuration: configurationOf('A', this.#version),
      makeWorker: async (order) => this.#make(order),
      changed: () => {
        if (this.state !== this.reported.at(-1)) this.reported.push(this.state)
      },
      log: new Log('silent'),
      backOff: { firstMs: backOffMs, longestMs: backOffMs },
    })
    void this.leased.run().then((end) => {
      this.end = end
    })
  }

  get state(): string {
    const { state, reason, pipeVersion } = this.leased.status
    return `${state} v${pipeVersion}${reason === null ? '' : `: ${reason}`}`
  }

  async do(steps: readonly string[]): Promise<void> {
    await nextLoopIteration()
    for (const step of steps) {
      const [verb, name = '', outcome] = step.split(' ')
      await this.#step(verb!, name, outcome)
      await nextLoopIteration()
    }
  }

  /** Ends what runs, as the lease is lost. */
  async finish(): Promise<void> {
    this.leased.abort()
    await until(() => this.end, 'the end')
  }

  async #step(verb: string, name: string, outcome?: string): Promise<void> {
    if (verb === 'desire') return this.leased.setDesired(configurationOf(name, ++this.#version))
    if (verb === 'stop') return this.leased.stop({ isForChange: name === 'forChange' })
    if (verb === 'abort') return this.leased.abort()
    const { order, prepared, ended } = await until(() => this.#workers.get(name), `worker ${name}`)
    if (verb === 'prepared') prepared.resolve()
    else if (verb === 'unprepared') prepared.reject(new NotConnected('the source'))
    else if (verb === 'reports') order.report({ state: 'running', doing: 'Reading' })
    else if (verb === 'crashes') ended.reject(new Error('a defect'))
    else if (verb === 'ends') ended.resolve(endOf(outcome!))
    else if (verb !== 'made') throw new Error(`no step is named ${verb}`)
  }

  #make(order: WorkerOrder): Worker {
    const { digest } = order.configuration
    const count = [...this.#workers.keys()].filter((name) => name.startsWith(digest)).length
    const name = count === 0 ? digest : `${digest}${count + 1}`
    const prepared = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<WorkerEnd>()
    prepared.promise.catch(() => undefined)
    this.#workers.set(name, { order, prepared, ended })
    const call = (did: string): void => void this.calls.push(`${did} ${name}`)
    return {
      prepare: () => {
        call('prepare')
        return prepared.promise
      },
      run: () => {
        call('run')
        return ended.promise
      },
      stop: () => call('stop'),
      abort: () => {
        call('abort')
        prepared.reject(new Error('aborted'))
        ended.resolve({ end: 'stopped' })
      },
    }
  }
}

function endOf(outcome: string): WorkerEnd {
  if (outcome === 'failed') return { end: 'failed', reason: 'wrong password' }
  return { end: outcome as 'stopped' | 'completed' | 'lost' }
}

const notInEffect = 'the change is not in effect: the source cannot be reached, or broke the connection off'
/** Longer than a test: a wait ends early. */
const longMs = 3_600_000

interface Case {
  name: string
  steps: string[]
  /** After the first worker runs. */
  calls: string[]
  /** After the first worker has reported that it runs. */
  reported: string[]
  end?: LeasedWorkerEnd
  backOffMs?: number
}

const cases: Case[] = [
  {
    name: 'is in effect when the replacement runs',
    steps: ['desire B', 'prepared B', 'ends A stopped', 'reports B'],
    calls: ['prepare B', 'stop A', 'run B'],
    // The version is that of the worker that runs.
    reported: ['modifying v1', 'running v2'],
  },
  {
    name: 'that does not affect workers is in effect at once',
    steps: ['desire A'],
    calls: [],
    reported: ['running v2'],
  },
  {
    name: 'replaced by another during its preparation never takes effect',
    steps: ['desire B', 'desire C', 'prepared B', 'prepared C', 'ends A stopped', 'reports C'],
    calls: ['prepare B', 'abort B', 'prepare C', 'stop A', 'run C'],
    reported: ['modifying v1', 'running v3'],
  },
  {
    name: 'replaced by another when its replacement is ready never takes effect',
    steps: ['desire B', 'prepared B', 'desire C', 'prepared C', 'ends A stopped', 'reports C'],
    calls: ['prepare B', 'stop A', 'prepare C', 'abort B', 'stop A', 'run C'],
    reported: ['modifying v1', 'running v3'],
  },
  {
    name: 'replaced by another takes effect without preparation when the worker stops first',
    steps: ['desire B', 'prepared B', 'desire C', 'ends A stopped', 'reports C2', 'prepared C'],
    calls: ['prepare B', 'stop A', 'prepare C', 'abort B', 'run C2', 'abort C'],
    reported: ['modifying v1', 'modifying v3', 'running v3'],
  },
  {
    name: 'reverted during its preparation does not stop the worker',
    steps: ['desire B', 'desire A', 'prepared B', 'reports A'],
    calls: ['prepare B', 'abort B'],
    reported: ['modifying v1', 'running v3'],
  },
  {
    name: 'reverted during its preparation is not shown when the worker reports',
    steps: ['desire B', 'desire A', 'reports A', 'prepared B'],
    calls: ['prepare B', 'abort B'],
    reported: ['modifying v1', 'running v3'],
  },
  {
    name: 'reverted and repeated during its preparation takes effect',
    steps: ['desire B', 'desire A', 'desire B', 'prepared B', 'ends A stopped', 'reports B'],
    calls: ['prepare B', 'stop A', 'run B'],
    reported: ['modifying v1', 'running v4'],
  },
  {
    name: 'reverted when its replacement is ready never takes effect',
    steps: ['desire B', 'prepared B', 'desire A', 'ends A stopped', 'reports A2'],
    calls: ['prepare B', 'stop A', 'abort B', 'run A2'],
    reported: ['modifying v1', 'running v3', 'starting v3', 'running v3'],
  },
  {
    name: 'reverted and repeated when its replacement is ready takes effect with it',
    steps: ['desire B', 'prepared B', 'desire A', 'desire B', 'ends A stopped', 'prepared B2', 'reports B'],
    calls: ['prepare B', 'stop A', 'prepare B2', 'run B', 'abort B2'],
    reported: ['modifying v1', 'running v3', 'modifying v1', 'running v4'],
  },
  {
    name: 'that cannot be prepared is shown with the reason, and takes effect when it can be',
    steps: ['desire B', 'unprepared B', 'made B2', 'prepared B2', 'ends A stopped', 'reports B2'],
    calls: ['prepare B', 'abort B', 'prepare B2', 'stop A', 'run B2'],
    reported: ['modifying v1', `degraded v1: ${notInEffect}`, 'running v2'],
  },
  {
    name: 'is prepared at once when an earlier one could not be prepared',
    steps: ['desire B', 'unprepared B', 'desire C', 'prepared C', 'ends A stopped', 'reports C'],
    calls: ['prepare B', 'abort B', 'prepare C', 'stop A', 'run C'],
    reported: ['modifying v1', `degraded v1: ${notInEffect}`, 'modifying v1', 'running v3'],
    backOffMs: longMs,
  },
  {
    name: 'that cannot be prepared and is reverted is not shown any more',
    steps: ['desire B', 'unprepared B', 'desire A'],
    calls: ['prepare B', 'abort B'],
    reported: ['modifying v1', `degraded v1: ${notInEffect}`, 'running v3'],
    backOffMs: longMs,
  },
  {
    name: 'takes effect when the worker fails',
    steps: ['desire B', 'ends A failed', 'reports B2', 'prepared B'],
    calls: ['prepare B', 'run B2', 'abort B'],
    reported: ['modifying v1', 'modifying v2', 'running v2'],
  },
  {
    name: 'takes effect when the worker completes',
    steps: ['desire B', 'ends A completed', 'reports B2', 'prepared B', 'ends B2 completed'],
    calls: ['prepare B', 'run B2', 'abort B'],
    reported: ['modifying v1', 'modifying v2', 'running v2'],
    end: { end: 'completed' },
  },
  {
    name: 'takes effect when the worker crashes',
    steps: ['desire B', 'crashes A', 'reports B2', 'prepared B'],
    calls: ['prepare B', 'run B2', 'abort B'],
    reported: ['modifying v1', 'modifying v2', 'running v2'],
  },
  {
    name: 'takes effect when the worker fails instead of stopping',
    steps: ['desire B', 'prepared B', 'ends A failed', 'reports B'],
    calls: ['prepare B', 'stop A', 'run B'],
    reported: ['modifying v1', 'running v2'],
  },
  {
    name: 'reverted during its preparation does not hide that the worker fails',
    steps: ['desire B', 'desire A', 'ends A failed'],
    calls: ['prepare B', 'abort B', 'abort B'],
    reported: ['modifying v1', 'running v3'],
    end: { end: 'failed', state: 'Failed', reason: 'wrong password' },
  },
  {
    name: 'does not keep a worker without its lease',
    steps: ['desire B', 'prepared B', 'ends A lost'],
    calls: ['prepare B', 'stop A', 'abort B'],
    reported: ['modifying v1'],
    end: { end: 'lost' },
  },
]

describe('a changed configuration', () => {
  for (const { name, steps, calls, reported, end, backOffMs } of cases) {
    it(name, async () => {
      const script = new Script(backOffMs)
      await script.do(['reports A'])
      script.calls.length = 0
      script.reported.length = 0
      await script.do(steps)
      assert.deepEqual({ calls: script.calls, reported: script.reported }, { calls, reported })
      assert.deepEqual(script.end, end)
      await script.finish()
    })
  }
})

const modes: Record<string, { steps: string[]; atEnd: string[] }> = {
  working: { steps: [], atEnd: [] },
  changing: { steps: ['desire B'], atEnd: ['abort B', 'abort B'] },
  'changing after a failure': { steps: ['desire B', 'unprepared B', 'made B2'], atEnd: ['abort B2', 'abort B2'] },
  'changing, reverted': { steps: ['desire B', 'desire A'], atEnd: ['abort B', 'abort B'] },
  switching: { steps: ['desire B', 'prepared B'], atEnd: ['abort B'] },
  'changing with a replacement of before': {
    steps: ['desire B', 'prepared B', 'desire C'],
    atEnd: ['abort C', 'abort C', 'abort B'],
  },
}

describe('the end of a leased worker', () => {
  for (const [mode, { steps, atEnd }] of Object.entries(modes)) {
    it(`when it is stopped while ${mode}`, async () => {
      const script = new Script()
      await script.do(['reports A', ...steps])
      script.calls.length = 0
      const shown = script.state
      await script.do(['stop'])
      assert.ok(script.calls.includes('stop A'))
      assert.equal(script.end, undefined)
      // A reverted change is not shown once its preparation has ended.
      assert.equal(script.state, mode === 'changing, reverted' ? 'running v3' : shown)
      await script.do(['reports A', 'desire D', 'ends A stopped'])
      assert.deepEqual(script.end, { end: 'stopped' })
      assert.deepEqual(script.calls.filter((call) => call !== 'stop A').sort(), [...atEnd].sort())
      assert.equal(script.leased.isEnding, true)
    })

    it(`when it is aborted while ${mode}`, async () => {
      const script = new Script()
      await script.do(['reports A', ...steps])
      script.calls.length = 0
      await script.do(['abort'])
      assert.deepEqual(script.end, { end: 'lost' })
      assert.deepEqual(script.calls.sort(), ['abort A', ...atEnd].sort())
    })

    it(`when it is stopped, then aborted while ${mode}`, async () => {
      const script = new Script()
      await script.do(['reports A', ...steps, 'stop', 'stop', 'abort'])
      assert.deepEqual(script.end, { end: 'lost' })
    })
  }

  it('for a change shows the change, and nothing else afterwards', async () => {
    const script = new Script()
    await script.do(['reports A', 'stop forChange', 'reports A'])
    assert.deepEqual(script.reported.slice(-2), ['running v1', 'modifying v1'])
    await script.do(['ends A stopped'])
    assert.deepEqual(script.end, { end: 'stopped' })
    assert.equal(script.state, 'modifying v1')
  })

  it('stays completed when it is stopped and aborted', async () => {
    const script = new Script()
    await script.do(['reports A', 'ends A completed', 'stop', 'abort', 'desire B'])
    assert.deepEqual(script.end, { end: 'completed' })
    assert.equal(script.leased.hasCompleted, true)
    assert.equal(script.state, 'completed v1')
    assert.deepEqual(script.calls, ['run A'])
  })

  it('comes at once while it waits after a crash', async () => {
    for (const [step, end] of [
      ['stop', 'stopped'],
      ['abort', 'lost'],
    ] as const) {
      const script = new Script(longMs)
      await script.do(['crashes A', step])
      assert.deepEqual(script.end, { end })
    }
  })

  it('comes after five crashes in a row', async () => {
    const script = new Script()
    await script.do(['crashes A', 'crashes A2', 'crashes A3', 'crashes A4', 'crashes A5'])
    assert.deepEqual(script.end, { end: 'failed', state: 'InternalError', reason: internalError })
  })
})

describe('modes of a leased worker', () => {
  const allowed: Record<ModeName, ModeName[]> = {
    working: ['working', 'changing', 'stopping', 'lost'],
    changing: ['working', 'changing', 'switching', 'stopping', 'lost'],
    switching: ['working', 'changing', 'switching', 'stopping', 'lost'],
    stopping: ['stopping', 'completed', 'lost'],
    completed: ['completed'],
    lost: ['lost'],
  }
  const names = Object.keys(allowed) as ModeName[]
  for (const from of names) {
    it(`that may follow ${from}`, () => {
      for (const to of names) {
        if (allowed[from].includes(to)) checkTransition(from, to)
        else assert.throws(() => checkTransition(from, to), new RegExp(`from mode "${from}" to mode "${to}"`))
      }
    })
  }
})
