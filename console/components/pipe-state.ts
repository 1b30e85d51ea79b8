// The state of a pipe beside that of its service: the two are measured apart, and must not contradict each other.
import type { Pipe, PipeMetrics, Service } from '../../src/client/shapes.ts'
import { stateMeanings, stateNames } from './pipe-fields.ts'

type ServiceState = Pick<Service, 'state'>
/** As the console shows it: `Waiting` is a pipe that is `Running` while its engine is down. */
export type ShownPipeState = Pipe['state'] | 'Waiting'

export const shownPipeStates: ShownPipeState[] = [...stateNames, 'Waiting']

/** Nothing accepts connections at an engine that is stopped. One that is degraded was running at the check before: pipes still try it. */
export function isEngineDown({ state }: ServiceState): boolean {
  return state === 'failed' || state === 'stopped'
}

/** It does nothing until somebody starts it. */
export function hasFailed(state: Pipe['state']): boolean {
  return state === 'Failed' || state === 'InternalError'
}

/** Why it has failed may not hold for the pipe as it was saved since. */
export function isReasonOutdated(
  { state, updatedAt }: Pick<Pipe, 'state' | 'updatedAt'>,
  { lastErrorAt }: Pick<PipeMetrics, 'lastErrorAt'>,
): boolean {
  return hasFailed(state) && lastErrorAt !== null && Date.parse(lastErrorAt) < Date.parse(updatedAt)
}

/** Of a service that does not work as it should; goes on after its name. */
export function serviceTrouble(service: ServiceState): string {
  if (service.state === 'stopped') return 'is stopped'
  return isEngineDown(service) ? 'is down' : 'does not answer every check'
}

/** A pipe without rows to write does not notice that its engine is down. */
export function shownPipeState(state: Pipe['state'], service: ServiceState): ShownPipeState {
  return state === 'Running' && isEngineDown(service) ? 'Waiting' : state
}

/** What to do with a pipe that rests and has moved nothing yet, as those of the sample. */
export function firstStep({ state, rowsRead }: Pick<PipeMetrics, 'state' | 'rowsRead'>): string | undefined {
  if ((state !== 'Stopped' && state !== 'Paused') || rowsRead > 0) return undefined
  return 'To start it: choose Edit, enter the address of your source and its credentials, check the connection, and choose Start.'
}

export function stateMeaning(state: Pipe['state'], service: ServiceState): string {
  const shown = shownPipeState(state, service)
  if (shown !== 'Waiting') return stateMeanings[shown]
  return 'The engine is down. The pipe has nothing to write now, and waits until the engine answers.'
}
