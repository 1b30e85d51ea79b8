// Warning about log that a source retains for a pipe. Computed on every read, so that it disappears with its cause.
import type { PipeState } from '../pipe-state.ts'

/** States in which a pipe reads nothing until somebody acts. */
const atRest: Partial<Record<PipeState, string>> = {
  Pausing: 'paused',
  Paused: 'paused',
  Failed: 'failed',
  InternalError: 'failed',
}

/** Undefined within the limit; a limit of 0 turns the warning off. */
export function retainedWarning(
  state: PipeState,
  retainedBytes: number | null,
  limitBytes: number,
): string | undefined {
  if (retainedBytes === null || limitBytes === 0 || retainedBytes <= limitBytes) return undefined
  const keeps = `the source keeps ${sizeOf(retainedBytes)} of log`
  const rest = atRest[state]
  return rest === undefined
    ? `${keeps} that this pipe has not taken yet; see that its disk does not get full`
    : `${keeps} for this ${rest} pipe; start it, or delete it, before its disk is full`
}

const units = ['MB', 'GB', 'TB', 'PB']

/** `12.4 GB` */
function sizeOf(bytes: number): string {
  let [size, unit] = [bytes / 1e6, 0]
  for (; size >= 999.95 && unit < units.length - 1; unit++) size /= 1_000
  return `${size.toLocaleString('en-US', { maximumFractionDigits: 1 })} ${units[unit]}`
}
