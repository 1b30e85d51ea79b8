// Deregisters the enhanced fan-out consumers of deleted kinesis pipes.
import { VaultError } from '../lib/vault.ts'
import { openSecrets } from '../pipes/store.ts'
import type { LeftoverOf } from '../progress/leftovers/store.ts'
import type { KinesisSource } from '../source-shapes/kinesis-source.ts'
import { ProbeFailure } from '../source-shapes/source-failure.ts'
import type { LeftAtKinesis } from '../source-shapes/source-kind.ts'
import { makeKinesis } from '../sources/kinesis/kinesis-client.ts'
import { consumerNameOf } from '../sources/kinesis/kinesis-consumer.ts'
import type { EndParts } from './make-ends.ts'

/** Returns the reason of a failure; undefined when nothing is left to remove. */
export async function removeLeftover(
  { vault, egress, context }: EndParts,
  { pipeId, organizationId, sealedSecrets, source }: LeftoverOf<LeftAtKinesis>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const secrets = openSecrets(vault, { id: pipeId, organizationId, sealedSecrets })
    const { kind: _, ...stream } = source
    const config: KinesisSource = { ...stream, format: 'JSONEachRow', iteratorType: 'LATEST' }
    const kinesis = makeKinesis(config, secrets, { ...context, organizationId }, { egress, signal })
    try {
      await kinesis.consumers.remove(consumerNameOf(pipeId), signal)
    } finally {
      kinesis.close()
    }
    return undefined
  } catch (error) {
    if (error instanceof ProbeFailure) return error.reason
    if (error instanceof VaultError) return 'the stored access key cannot be opened'
    throw error
  }
}

export function remedyFor({ pipeId, source: { region, streamName } }: LeftoverOf<LeftAtKinesis>): string {
  return `remove the consumer ${consumerNameOf(pipeId)} from the stream "${streamName}" in ${region}`
}
