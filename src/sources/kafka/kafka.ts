// Kafka as a source, and whatever speaks its protocol: Redpanda, MSK, Confluent, WarpStream, Event Hubs.
import type { KafkaSource } from '../../pipes/kafka-shapes.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import type { Positions, ReadableSource, SourceContext } from '../source.ts'
import { makeAccess } from './kafka-connection.ts'
import { measureLag } from './kafka-lag.ts'
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
    async open(positions, surroundings, selection = {}) {
      const { until } = selection
      // What has begun is read to its end, also when the topics of the source are other ones by now.
      const chosen = until ? { ...config, topics: topicsOf(until) || config.topics } : config
      return openKafkaReader(makeAccess(chosen, secrets, context, surroundings), positions, { selection })
    },
    async measureLag(positions, surroundings, share) {
      const access = makeAccess(config, secrets, context, surroundings)
      try {
        return await measureLag(access, { positions, selection: { share }, offset: config.offset })
      } finally {
        access.close()
      }
    },
  }
}

function topicsOf(positions: Positions): string {
  const topics = Object.keys(positions).map((name) => name.slice(0, name.lastIndexOf('/')))
  return [...new Set(topics)].join(',')
}
