// Runs in each process of test files before them. Workers and processes that a test starts inherit the flag that imports this and
// the environment: the mark keeps them from taking themselves for test files.
import { type AsyncHook, AsyncLocalStorage, type AsyncResourceOptions, type HookCallbacks } from 'node:async_hooks'
import type test from 'node:test'

if (process.env.NODE_TEST_CONTEXT && !process.env.PENSTOCK_TEST_WATCHED) {
  process.env.PENSTOCK_TEST_WATCHED = '1'
  const { after } = await loadRunnerWithoutHook()
  after(failIfLeftRunning)
}

/**
 * Node's runner wants to know of which test the code that runs is, and has a hook for that, which is called for each promise and
 * each callback and takes a seventh of the time of S2. An AsyncLocalStorage knows the same for next to nothing. The runner takes
 * what it needs while it loads: only then is it given other things.
 */
async function loadRunnerWithoutHook(): Promise<typeof test> {
  const current = new AsyncLocalStorage<number>()
  const hooks = process.getBuiltinModule('node:async_hooks')
  const { createHook, executionAsyncId, AsyncResource } = hooks
  let tellOfTest: HookCallbacks['init']

  class RunnerResource extends AsyncResource {
    constructor(type: string, options?: number | AsyncResourceOptions) {
      super(type, options)
      tellOfTest?.(this.asyncId(), type, this.triggerAsyncId(), this)
    }

    override runInAsyncScope<This, Result, Args extends unknown[]>(
      run: (this: This, ...args: Args) => Result,
      thisArg?: This,
      ...args: Args
    ): Result {
      return super.runInAsyncScope(() => current.run(this.asyncId(), () => run.apply(thisArg as This, args)))
    }
  }
  const noHook: AsyncHook = { enable: () => noHook, disable: () => noHook }

  Object.assign(hooks, {
    AsyncResource: RunnerResource,
    executionAsyncId: () => current.getStore() ?? 0,
    createHook(callbacks: HookCallbacks) {
      tellOfTest = callbacks.init
      return noHook
    },
  })
  try {
    return (await import('node:test')).default
  } finally {
    Object.assign(hooks, { createHook, executionAsyncId, AsyncResource })
  }
}

/**
 * A file whose tests are done while something still runs, such as a pool or a server. --test-timeout covers single tests only, so
 * that such a file would never end, and --test-force-exit would hide it.
 */
function failIfLeftRunning(): void {
  setTimeout(() => {
    const files = process.env.PENSTOCK_TEST_FILES ?? process.argv[1]
    console.error('Left running:', process.getActiveResourcesInfo().join(', '), 'by', files)
    process.exit(1)
  }, 30_000).unref()
}
