// Reports for which transaction of somebody else the creation of a slot waits.
import { findBlocker, processIdOf } from '../../sources/postgres/postgres-blocker.ts'
import type { PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { pause } from '../back-off.ts'
import type { Replication } from './replication.ts'

/** Of `lookAgainMs`, between two looks. */
const looksBetween = 5

/** `report` gets the reason, again and again, for as long as `work` waits on this link. */
export async function reportBlocker<Result>(
  { access, surroundings, times, stopping }: Replication,
  waiting: PostgresLink,
  work: () => Promise<Result>,
  report: (reason: string) => void,
): Promise<Result> {
  const processId = await processIdOf(waiting)
  const done = new AbortController()
  const ended = AbortSignal.any([done.signal, stopping])
  const look = async (): Promise<void> => {
    let link: PostgresLink | undefined
    try {
      for (;;) {
        await pause(looksBetween * times.lookAgainMs, ended)
        if (ended.aborted) return
        link ??= await access.open({ ...surroundings, signal: ended }, { isReplication: false })
        const blocker = await findBlocker(link, processId)
        if (blocker !== undefined && !ended.aborted) report(`the creation of a replication slot waits for ${blocker}`)
      }
    } catch {
      // Whoever waits goes on waiting without a report.
    } finally {
      await link?.close()
    }
  }
  const looking = look()
  try {
    return await work()
  } finally {
    done.abort()
    await looking
  }
}
