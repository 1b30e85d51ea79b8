import { kafkaConformance } from '../sources/kafka-conformance.ts'
import { startKafka } from './servers/kafka.ts'

kafkaConformance(startKafka)
