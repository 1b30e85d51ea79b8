// What a runner does at the streams of kinesis pipes that are deleted.
import { VaultError } from '../lib/vault.ts'
import type { KinesisSource } from '../pipes/kinesis-source.ts'
import { openSecrets } from '../pipes/store.ts'
import type { LeftAtKinesis, LeftoverOf } from '../progress/leftovers/store.ts'
import { makeKinesis } from '../sources/kinesis/kinesis-client.ts'
import { consumerNameOf } from '../sources/kinesis/kinesis-consumer.ts'
import { ProbeFailure } from '../sources/source.ts'
import type { EndParts } from './make-ends.ts'

/** Gives why it was in vain; undefined when nothing is left. */
export async function removeLeftover(
  { vault, egress, context }: EndParts,
  { pipeId, organizationId, sealedSecrets, source }: LeftoverOf<LeftAtKinesis>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const secrets = openSecrets(vault, { id: pipeId, organizationId, sealedSecrets })
    const { kind: _, ...place } = source
    const config: KinesisSource = { ...place, format: 'JSONEachRow', iteratorType: 'LATEST' }
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
