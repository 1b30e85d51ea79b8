// Reports the transaction that blocks the creation of a replication slot.
import { findBlocker, processIdOf } from '../../sources/postgres/postgres-blocker.ts'
import type { PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { pause } from '../back-off.ts'
import type { Replication } from './replication.ts'

/** Times `lookAgainMs`. */
const looksBetween = 5

/** Calls `report` with the reason repeatedly while `work` waits on this link. */
export async function reportBlocker<Result>(
  { access, connectOptions, times, stopping }: Replication,
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
        link ??= await access.open({ ...connectOptions, signal: ended }, { isReplication: false })
        const blocker = await findBlocker(link, processId)
        if (blocker !== undefined && !ended.aborted) report(`the creation of a replication slot waits for ${blocker}`)
      }
    } catch {
      // The report is optional: `work` goes on without it.
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
