// Starts a server again whenever it ends.
import { setTimeout as sleep } from 'node:timers/promises'

export interface RunningServer {
  /** Resolves when it has ended. */
  ended: Promise<unknown>
}

export interface KeepRunningOptions {
  onEnd(): void
  /** Rejects when it did not start: it is tried again. */
  restart(): Promise<RunningServer>
}

/** Back-off between starts that fail. */
const [firstPauseMs, longestPauseMs] = [100, 5_000]

/** As long as this process runs. */
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
