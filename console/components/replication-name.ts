/** What the publication and the slot are called that Penstock makes for a pipe. */
export function ownReplicationName(pipeId: string): string {
  return `penstock_${pipeId.replaceAll('-', '_')}`
}
