// Row version: of two rows with the same key, the one with the larger version is current.

/** Further changes of one transaction share a version; the last one written wins. */
const changesPerCommit = 65_536
/** PostgreSQL would need centuries to write so much WAL. */
const mostLsn = 1n << 48n

/** `number`: number of the change in its transaction, from 1; 0 for a loaded row. */
export function versionOf(commitLsn: bigint, number: number): bigint {
  if (commitLsn >= mostLsn) throw new Error('the LSN of the source exceeds 48 bits')
  return commitLsn * 65_536n + BigInt(Math.min(number, changesPerCommit - 1))
}
