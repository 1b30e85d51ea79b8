// What every drill of the whole system looks like: a promise, and a run that tells whether it was kept.

export interface SystemDrill {
  id: string
  promise: string
  /** How much of it a test run does, and a long one. */
  ci: number
  full: number
  /** What sizes count. */
  unit: string
  run(options: { seed: number; size: number; folder: string }): Promise<SystemResult>
}

export interface SystemResult {
  isKept: boolean
  figures: Record<string, number>
  /** What was not as promised, for whoever looks into it. */
  toLookAt?: string
}
