// Encoder of the records of a stream.
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import { confluentAvro } from '../decode/avro-rows.ts'
import { confluentProtobuf } from '../decode/protobuf-rows.ts'
import { avroRecords, confluentRecords } from './decoded-records.ts'
import type { EncoderParts, RecordEncoder } from './encoder.ts'
import { fillColumns } from './field-plan.ts'
import { joinRows } from './joined-rows.ts'
import { jsonRecords, unpackKinesis, unpackNothing } from './json-records.ts'
import type { RecordFormat } from './record-format.ts'
import { encodeRecords } from './record-rows.ts'

export function makeRecordEncoder(parts: EncoderParts): RecordEncoder {
  const closing = new AbortController()
  const format = formatOf(parts, closing.signal)
  return {
    encode: (partition, records, signal) => encodeRecords(format, partition, records, signal),
    join: joinRows,
    async close() {
      closing.abort()
    },
  }
}

function formatOf(parts: EncoderParts, signal: AbortSignal): RecordFormat {
  const { kind, destination, fieldMappings } = parts
  const filled = fillColumns(kind, destination.columns, fieldMappings)
  const { format } = parts.source as Pick<KafkaSource | KinesisSource, 'format'>
  switch (format) {
    case 'JSONEachRow':
      return jsonRecords(filled, kind === 'kinesis' ? unpackKinesis : unpackNothing)
    case 'Avro':
      return avroRecords(filled)
    case 'AvroConfluent':
      return confluentRecords(confluentAvro, parts.openRegistry(signal), filled)
    case 'Protobuf':
      return confluentRecords(confluentProtobuf, parts.openRegistry(signal), filled)
  }
}
