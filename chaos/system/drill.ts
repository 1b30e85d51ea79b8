// System drill: a promise, and a run that checks it.

export interface SystemDrill {
  id: string
  promise: string
  /** Size in a test run and in a long run. */
  ci: number
  full: number
  /** Unit of the size. */
  unit: string
  run(options: { seed: number; size: number; folder: string }): Promise<SystemResult>
}

const mostRounds = 3

/**
 * Repeats rounds for promises about time. Another process may slow down one round; a defect of Penstock slows down all. The last
 * round is the first that is successful, or fails for another reason than time.
 */
export async function inRounds<Round extends { isOnlySlow: boolean }>(
  run: () => Promise<Round>,
): Promise<Round & { rounds: number }> {
  for (let rounds = 1; ; rounds++) {
    const round = await run()
    if (!round.isOnlySlow || rounds === mostRounds) return { ...round, rounds }
  }
}

export interface SystemResult {
  isKept: boolean
  measurements: Record<string, number>
  /** Details of a violation. */
  toLookAt?: string
}
