// Kafka source, for all systems with its protocol: Redpanda, MSK, Confluent, WarpStream, Event Hubs.
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
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
    async open(positions, options, selection = {}) {
      const { until } = selection
      // A range is read to its end, even if the source has other topics by now.
      const chosen = until ? { ...config, topics: topicsOf(until) || config.topics } : config
      return openKafkaReader(makeAccess(chosen, secrets, context, options), positions, { selection })
    },
    async measureLag(positions, options, assignment) {
      const access = makeAccess(config, secrets, context, options)
      try {
        return await measureLag(access, { positions, selection: { assignment }, offset: config.offset })
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
