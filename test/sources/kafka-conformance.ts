// Conformance suite for Kafka sources: successful probes, failing probes, and reading.
import { after, before, describe } from 'node:test'
import { kafkaChanges } from './kafka-changes.ts'
import { kafkaFailures } from './kafka-failures.ts'
import { kafkaProbes } from './kafka-probes.ts'
import { kafkaReading } from './kafka-reading.ts'
import { kafkaRecreation } from './kafka-recreation.ts'
import { kafkaSelection } from './kafka-selection.ts'
import type { KafkaServer } from './kafka-server.ts'

export function kafkaConformance(start: () => Promise<KafkaServer>): void {
  describe('the Kafka source', () => {
    let server: KafkaServer | undefined
    const running = (): KafkaServer => {
      if (!server) throw new Error('the server has not been started')
      return server
    }
    before(async () => {
      server = await start()
    })
    const stop = async (): Promise<void> => {
      const stopping = server
      server = undefined
      await stopping?.stop()
    }
    after(stop)
    kafkaProbes(running)
    kafkaFailures(running)
    kafkaChanges(running)
    kafkaSelection(running)
    kafkaRecreation(running)
    // Last, because it stops the server.
    kafkaReading(running, stop)
  })
}
