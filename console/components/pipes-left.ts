import type { Activity } from '../../src/client/shapes.ts'

/** The pipes that were created and not deleted since, newest first. The sample pipes have no activities. */
export function pipesLeft(
  created: Pick<Activity, 'target'>[],
  deleted: Pick<Activity, 'target'>[],
): { serviceId: string; pipeId: string }[] {
  const gone = new Set(deleted.map(({ target }) => target.id))
  return created.flatMap(({ target }) => {
    const { id, serviceId }: Activity['target'] & { serviceId?: string } = target
    return serviceId === undefined || gone.has(id) ? [] : [{ serviceId, pipeId: id }]
  })
}
