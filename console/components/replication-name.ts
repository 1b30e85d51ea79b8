/** Name of the publication and the replication slot that Penstock creates for a pipe. */
export function ownReplicationName(pipeId: string): string {
  return `penstock_${pipeId.replaceAll('-', '_')}`
}
