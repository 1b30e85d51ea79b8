// The version of a row: of two with the same key, the one with the larger version is what the source has.

/** Changes of one transaction beyond that share a version; the last one that is written counts. */
const changesPerCommit = 65_536
/** As much log as PostgreSQL writes in centuries. */
const mostLsn = 1n << 48n

/** `number` is that of the change in its transaction, from 1 on; 0 of a row that was loaded. */
export function versionOf(commitLsn: bigint, number: number): bigint {
  if (commitLsn >= mostLsn) throw new Error('the log of the source is longer than versions can tell')
  return commitLsn * 65_536n + BigInt(Math.min(number, changesPerCommit - 1))
}
