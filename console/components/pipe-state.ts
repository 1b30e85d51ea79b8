// Shown state of a pipe, combined with the state of its service: both are measured separately and must not contradict each other.
import type { Pipe, PipeMetrics, Service } from '../../src/client/shapes.ts'
import { stateMeanings, stateNames } from './pipe-fields.ts'

type ServiceState = Pick<Service, 'state'>
/** `Waiting`: the pipe is `Running` but its engine is down. */
export type ShownPipeState = Pipe['state'] | 'Waiting'

export const shownPipeStates: ShownPipeState[] = [...stateNames, 'Waiting']

/** A stopped engine accepts no connections. A degraded one passed the previous check, and pipes still use it. */
export function isEngineDown({ state }: ServiceState): boolean {
  return state === 'failed' || state === 'stopped'
}

/** Whether the pipe does nothing until a person starts it. */
export function hasFailed(state: Pipe['state']): boolean {
  return state === 'Failed' || state === 'InternalError'
}

/** Whether the pipe was saved after its failure, so that the reason may no longer apply. */
export function isReasonOutdated(
  { state, updatedAt }: Pick<Pipe, 'state' | 'updatedAt'>,
  { lastErrorAt }: Pick<PipeMetrics, 'lastErrorAt'>,
): boolean {
  return hasFailed(state) && lastErrorAt !== null && Date.parse(lastErrorAt) < Date.parse(updatedAt)
}

/** State of an unhealthy service; continues a sentence after its name. */
export function serviceTrouble(service: ServiceState): string {
  if (service.state === 'stopped') return 'is stopped'
  return isEngineDown(service) ? 'is down' : 'does not answer every check'
}

/** A pipe without rows to write does not detect that its engine is down. */
export function shownPipeState(state: Pipe['state'], service: ServiceState): ShownPipeState {
  return state === 'Running' && isEngineDown(service) ? 'Waiting' : state
}

/** Advice for a stopped pipe that has not moved rows yet, such as those of the sample. */
export function firstStep({ state, rowsRead }: Pick<PipeMetrics, 'state' | 'rowsRead'>): string | undefined {
  if ((state !== 'Stopped' && state !== 'Paused') || rowsRead > 0) return undefined
  return 'To start it, choose Start. If the address or the credentials of its source are only examples, choose Edit first and enter yours.'
}

export function stateMeaning(state: Pipe['state'], service: ServiceState): string {
  const shown = shownPipeState(state, service)
  if (shown !== 'Waiting') return stateMeanings[shown]
  return 'The engine is down. The pipe has nothing to write now, and waits until the engine answers.'
}
