// Runs in each test process before the test files. Workers and child processes inherit the import flag and the environment; the
// mark in the environment keeps them from being treated as test files.
import { type AsyncHook, AsyncLocalStorage, type AsyncResourceOptions, type HookCallbacks } from 'node:async_hooks'
import type test from 'node:test'

if (process.env.NODE_TEST_CONTEXT && !process.env.PENSTOCK_TEST_WATCHED) {
  process.env.PENSTOCK_TEST_WATCHED = '1'
  const { after } = await loadRunnerWithoutHook()
  after(failIfLeftRunning)
}

/**
 * The Node test runner installs an async hook to know which test the running code belongs to. The hook is called for each promise
 * and callback and takes a seventh of the time of S2. An AsyncLocalStorage provides the same almost for free. The runner takes
 * these functions while it loads, so they are replaced only then.
 */
async function loadRunnerWithoutHook(): Promise<typeof test> {
  const current = new AsyncLocalStorage<number>()
  const hooks = process.getBuiltinModule('node:async_hooks')
  const { createHook, executionAsyncId, AsyncResource } = hooks
  let initCallback: HookCallbacks['init']

  class RunnerResource extends AsyncResource {
    constructor(type: string, options?: number | AsyncResourceOptions) {
      super(type, options)
      initCallback?.(this.asyncId(), type, this.triggerAsyncId(), this)
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
      initCallback = callbacks.init
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
 * Fails a file that is still running 30 s after its tests, for example because of an open pool or server. --test-timeout covers
 * single tests only, so such a file would never end; --test-force-exit would hide the leak.
 */
function failIfLeftRunning(): void {
  setTimeout(() => {
    const files = process.env.PENSTOCK_TEST_FILES ?? process.argv[1]
    console.error('Left running:', process.getActiveResourcesInfo().join(', '), 'by', files)
    process.exit(1)
  }, 30_000).unref()
}
