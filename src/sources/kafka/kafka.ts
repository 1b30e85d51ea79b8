// Kafka as a source, and whatever speaks its protocol: Redpanda, MSK, Confluent, WarpStream, Event Hubs.
import type { KafkaSource } from '../../pipes/kafka-shapes.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import type { ReadableSource, SourceContext } from '../source.ts'
import { makeAccess } from './kafka-connection.ts'
import { probeKafka } from './kafka-probe.ts'
import { openKafkaReader } from './kafka-reader.ts'

export function makeKafkaSource(config: KafkaSource, secrets: SourceSecrets, context: SourceContext): ReadableSource {
  return {
    async probe(options) {
      const access = makeAccess(config, secrets, context, options)
      try {
        return await probeKafka(access, options)
      } finally {
        access.close()
      }
    },
    async open(positions, surroundings) {
      return openKafkaReader(makeAccess(config, secrets, context, surroundings), positions)
    },
  }
}
