// Labels of the values of pipe fields, shared by pages and forms.
import type { KafkaSource, KinesisSource, ObjectStorageSource, PostgresSource } from '../../src/client/shapes.ts'

/** Labels of values; unknown values are shown unchanged. */
type ChoiceTexts<Value extends string> = Record<Value, string>

export const choiceTexts = {
  kafkaType: {
    kafka: 'Apache Kafka',
    redpanda: 'Redpanda',
    msk: 'Amazon MSK',
    confluent: 'Confluent Cloud',
    warpstream: 'WarpStream',
    azureeventhub: 'Azure Event Hubs',
    dokafka: 'DigitalOcean Kafka',
  } satisfies ChoiceTexts<KafkaSource['type']>,
  kafkaAuthentication: {
    PLAIN: 'User name and password (PLAIN)',
    'SCRAM-SHA-256': 'User name and password (SCRAM-SHA-256)',
    'SCRAM-SHA-512': 'User name and password (SCRAM-SHA-512)',
    IAM_ROLE: 'IAM role',
    IAM_USER: 'IAM user (access key)',
    MUTUAL_TLS: 'Mutual TLS (client certificate)',
  } satisfies ChoiceTexts<KafkaSource['authentication']>,
  format: {
    JSONEachRow: 'JSON, one object per row',
    Avro: 'Avro',
    AvroConfluent: 'Avro with a schema registry (Confluent)',
    Protobuf: 'Protobuf',
    CSV: 'CSV',
    CSVWithNames: 'CSV with column names',
    TabSeparated: 'Tab-separated',
    TabSeparatedWithNames: 'Tab-separated with column names',
    Parquet: 'Parquet',
  } satisfies ChoiceTexts<KafkaSource['format'] | KinesisSource['format'] | ObjectStorageSource['format']>,
  offsetStrategy: {
    from_beginning: 'At the oldest message',
    from_latest: 'At new messages only',
    from_timestamp: 'At a date and time',
  } satisfies ChoiceTexts<NonNullable<KafkaSource['offset']>['strategy']>,
  iteratorType: {
    TRIM_HORIZON: 'At the oldest record',
    LATEST: 'At new records only',
    AT_TIMESTAMP: 'At a date and time',
  } satisfies ChoiceTexts<KinesisSource['iteratorType']>,
  objectStorageType: {
    s3: 'Amazon S3',
    gcs: 'Google Cloud Storage',
    azureblobstorage: 'Azure Blob Storage',
    dospaces: 'DigitalOcean Spaces',
  } satisfies ChoiceTexts<ObjectStorageSource['type']>,
  objectStorageAuthentication: {
    IAM_ROLE: 'IAM role',
    IAM_USER: 'IAM user (access key)',
    CONNECTION_STRING: 'Connection string',
  } satisfies ChoiceTexts<NonNullable<ObjectStorageSource['authentication']>>,
  compression: {
    auto: 'Detect from the file name or the first bytes',
    none: 'None',
    gzip: 'gzip',
    gz: 'gz',
    brotli: 'brotli',
    br: 'br',
    xz: 'xz',
    LZMA: 'LZMA',
    zstd: 'zstd',
  } satisfies ChoiceTexts<ObjectStorageSource['compression']>,
  replicationMode: {
    cdc: 'Initial load, then changes (CDC)',
    snapshot: 'Load once',
    cdc_only: 'Changes only (CDC)',
  } satisfies ChoiceTexts<PostgresSource['settings']['replicationMode']>,
}
