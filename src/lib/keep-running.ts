// Restarts a server whenever it ends.
import { setTimeout as sleep } from 'node:timers/promises'

export interface RunningServer {
  /** Resolves when the server has ended. */
  ended: Promise<unknown>
}

export interface KeepRunningOptions {
  onEnd(): void
  /** Rejects when the server did not start; then it is retried. */
  restart(): Promise<RunningServer>
}

/** Back-off between starts that fail. */
const [firstPauseMs, longestPauseMs] = [100, 5_000]

/** Runs as long as this process. */
export async function keepRunning(first: RunningServer, { onEnd, restart }: KeepRunningOptions): Promise<never> {
  let running: RunningServer | undefined = first
  while (true) {
    await running.ended
    onEnd()
    running = undefined
    for (let pauseMs = firstPauseMs; !running; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      await sleep(pauseMs)
      running = await restart().catch(() => undefined)
    }
  }
}
