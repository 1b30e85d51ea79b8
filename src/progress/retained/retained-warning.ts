// What is said of a source that keeps much log for a pipe. Made of what is known whenever somebody looks: so it goes with its cause.
import type { PipeState } from '../../pipes/pipe-state.ts'

/** Of pipes that take nothing until somebody does something. */
const atRest: Partial<Record<PipeState, string>> = {
  Pausing: 'paused',
  Paused: 'paused',
  Failed: 'failed',
  InternalError: 'failed',
}

/** Undefined while it is not much; with a limit of 0 it never is. */
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
