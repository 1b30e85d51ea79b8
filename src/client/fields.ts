// Generated from the list of operations: npm run generate.
// biome-ignore-all format: written by a program.
// biome-ignore-all assist/source/organizeImports: written by a program.

export interface FieldRules {
  /** Required if the object that contains the field is there. */
  readonly required?: true
  /** A number that need not be an integer. */
  readonly isFractional?: true
  readonly default?: string | number | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  /** Describes the pattern of the value. */
  readonly patternHint?: string
  readonly enum?: readonly string[]
  /** Whether `updatePipe` changes the field, and whether null resets it. Absent: it cannot be changed. */
  readonly update?: 'value' | 'nullable'
}

/** Rules of the fields of `createPipe`, by the pointers that errors have. */
export const pipeFieldRules = {
  "name": {"required":true,"maxLength":255,"update":"value"},
  "source/kafka/type": {"required":true,"enum":["kafka","redpanda","msk","confluent","warpstream","azureeventhub","dokafka"]},
  "source/kafka/authentication": {"required":true,"enum":["PLAIN","SCRAM-SHA-256","SCRAM-SHA-512","IAM_ROLE","IAM_USER","MUTUAL_TLS"],"update":"value"},
  "source/kafka/brokers": {"required":true,"maxLength":8192},
  "source/kafka/topics": {"required":true,"maxLength":8192},
  "source/kafka/format": {"required":true,"enum":["JSONEachRow","Avro","AvroConfluent","Protobuf"]},
  "source/kafka/consumerGroup": {"maxLength":255},
  "source/kafka/offset/strategy": {"required":true,"enum":["from_beginning","from_latest","from_timestamp"]},
  "source/kafka/offset/timestamp": {"maxLength":16,"patternHint":"a date and time such as 2026-01-31T12:00"},
  "source/kafka/caCertificate": {"maxLength":65536,"patternHint":"PEM: one or more \"-----BEGIN CERTIFICATE-----\" blocks","update":"nullable"},
  "source/kafka/iamRole": {"maxLength":2048,"update":"nullable"},
  "source/kafka/reversePrivateEndpointIds": {"maxItems":64,"update":"nullable"},
  "source/kafka/credentials/username": {"maxLength":1024,"update":"value"},
  "source/kafka/credentials/password": {"maxLength":4096,"update":"value"},
  "source/kafka/credentials/accessKeyId": {"maxLength":256,"update":"value"},
  "source/kafka/credentials/secretKey": {"maxLength":1024,"update":"value"},
  "source/kafka/credentials/certificate": {"maxLength":65536,"patternHint":"PEM: one or more \"-----BEGIN CERTIFICATE-----\" blocks","update":"value"},
  "source/kafka/credentials/privateKey": {"maxLength":65536,"patternHint":"PEM: one \"-----BEGIN PRIVATE KEY-----\" block, not encrypted","update":"value"},
  "source/kafka/credentials/connectionString": {"maxLength":4096,"patternHint":"\"name=value\" parts separated by \";\"","update":"value"},
  "source/kafka/schemaRegistry/url": {"required":true,"maxLength":2048},
  "source/kafka/schemaRegistry/authentication": {"enum":["PLAIN"]},
  "source/kafka/schemaRegistry/caCertificate": {"maxLength":65536,"patternHint":"PEM: one or more \"-----BEGIN CERTIFICATE-----\" blocks"},
  "source/kafka/schemaRegistry/credentials/username": {"maxLength":1024},
  "source/kafka/schemaRegistry/credentials/password": {"maxLength":4096},
  "source/kinesis/authentication": {"required":true,"enum":["IAM_ROLE","IAM_USER"],"update":"value"},
  "source/kinesis/format": {"required":true,"enum":["JSONEachRow","Avro","AvroConfluent"]},
  "source/kinesis/iteratorType": {"required":true,"enum":["TRIM_HORIZON","LATEST","AT_TIMESTAMP"]},
  "source/kinesis/region": {"required":true,"maxLength":64,"patternHint":"a region such as eu-west-1"},
  "source/kinesis/streamName": {"required":true,"maxLength":128,"patternHint":"a name of letters, digits and the characters _ . -"},
  "source/kinesis/timestamp": {"minimum":0,"maximum":253402300799},
  "source/kinesis/accessKey/accessKeyId": {"maxLength":256,"update":"value"},
  "source/kinesis/accessKey/secretKey": {"maxLength":1024,"update":"value"},
  "source/kinesis/iamRole": {"maxLength":2048,"update":"nullable"},
  "source/kinesis/useEnhancedFanOut": {"default":false},
  "source/objectStorage/type": {"required":true,"enum":["s3","gcs","azureblobstorage","dospaces"]},
  "source/objectStorage/format": {"required":true,"enum":["JSONEachRow","CSV","CSVWithNames","TabSeparated","TabSeparatedWithNames","Parquet","Avro"]},
  "source/objectStorage/authentication": {"enum":["IAM_ROLE","IAM_USER","CONNECTION_STRING"],"update":"nullable"},
  "source/objectStorage/azureContainerName": {"maxLength":255,"update":"nullable"},
  "source/objectStorage/delimiter": {"maxLength":1},
  "source/objectStorage/iamRole": {"maxLength":2048,"update":"nullable"},
  "source/objectStorage/path": {"maxLength":1024,"update":"nullable"},
  "source/objectStorage/queueUrl": {"maxLength":2048},
  "source/objectStorage/url": {"maxLength":2048},
  "source/objectStorage/accessKey/accessKeyId": {"maxLength":256,"update":"value"},
  "source/objectStorage/accessKey/secretKey": {"maxLength":1024,"update":"value"},
  "source/objectStorage/compression": {"default":"auto","enum":["auto","none","gzip","gz","brotli","br","xz","LZMA","zstd"]},
  "source/objectStorage/connectionString": {"maxLength":4096,"patternHint":"\"name=value\" parts separated by \";\"","update":"nullable"},
  "source/objectStorage/isContinuous": {"default":false},
  "source/objectStorage/skipInitialLoad": {"default":false},
  "source/postgres/host": {"required":true,"maxLength":253,"patternHint":"a host name or an IP address","update":"value"},
  "source/postgres/port": {"default":5432,"minimum":1,"maximum":65535,"update":"value"},
  "source/postgres/database": {"required":true,"maxLength":255,"update":"value"},
  "source/postgres/credentials/username": {"maxLength":1024,"update":"value"},
  "source/postgres/credentials/password": {"maxLength":4096,"update":"value"},
  "source/postgres/settings/allowNullableColumns": {"default":false},
  "source/postgres/settings/enableFailoverSlots": {"default":false},
  "source/postgres/settings/initialLoadParallelism": {"default":4,"minimum":1,"maximum":2147483647},
  "source/postgres/settings/publicationName": {"maxLength":63},
  "source/postgres/settings/pullBatchSize": {"default":100000,"minimum":1,"maximum":2147483647,"update":"nullable"},
  "source/postgres/settings/replicationMode": {"default":"cdc","enum":["cdc","snapshot","cdc_only"]},
  "source/postgres/settings/replicationSlotName": {"maxLength":63,"patternHint":"a name of small letters, digits and _"},
  "source/postgres/settings/snapshotNumRowsPerPartition": {"default":100000,"minimum":1000,"maximum":2147483647},
  "source/postgres/settings/snapshotNumberOfParallelTables": {"default":1,"minimum":1,"maximum":2147483647},
  "source/postgres/settings/syncIntervalSeconds": {"default":60,"minimum":1,"maximum":2147483647,"update":"nullable"},
  "source/postgres/tableMappings": {"required":true,"maxItems":1000},
  "source/validateSamples": {"default":false,"update":"value"},
  "destination/database": {"required":true,"maxLength":255},
  "destination/table": {"maxLength":255},
  "destination/tableDefinition/engine/type": {"required":true,"enum":["MergeTree","ReplacingMergeTree","SummingMergeTree","Null"]},
  "destination/tableDefinition/engine/columnIds": {"maxItems":2000},
  "destination/tableDefinition/engine/versionColumnId": {"maxLength":255},
  "destination/tableDefinition/partitionBy": {"maxLength":1024},
  "destination/tableDefinition/primaryKey": {"maxLength":1024},
  "destination/tableDefinition/sortingKey": {"maxItems":2000},
  "destination/managedTable": {"default":true},
  "destination/columns": {"maxItems":2000,"update":"value"},
  "fieldMappings": {"maxItems":2000,"update":"value"},
  "scaling/concurrency": {"default":0,"minimum":0,"maximum":34},
  "scaling/replicas": {"default":1,"minimum":1,"maximum":40},
  "scaling/replicaCpuMillicores": {"default":125,"minimum":125,"maximum":2000},
  "scaling/replicaMemoryGb": {"isFractional":true,"default":0.5,"minimum":0.5,"maximum":8},
  "settings/engine_max_download_threads": {"default":4,"minimum":0,"maximum":32,"update":"nullable"},
  "settings/engine_max_insert_threads": {"default":1,"minimum":0,"maximum":16,"update":"nullable"},
  "settings/engine_max_threads": {"default":0,"minimum":0,"maximum":64,"update":"nullable"},
  "settings/engine_min_insert_block_size_bytes": {"default":1073741824,"minimum":0,"maximum":10737418240,"update":"nullable"},
  "settings/engine_parallel_distributed_insert_select": {"default":2,"minimum":0,"maximum":2,"update":"nullable"},
  "settings/engine_parallel_view_processing": {"default":false,"update":"nullable"},
  "settings/object_storage_concurrency": {"default":1,"minimum":1,"maximum":35,"update":"nullable"},
  "settings/object_storage_max_file_count": {"default":100,"minimum":1,"maximum":10000,"update":"nullable"},
  "settings/object_storage_max_insert_bytes": {"default":10737418240,"minimum":10485760,"maximum":53687091200,"update":"nullable"},
  "settings/object_storage_polling_interval_ms": {"default":30000,"minimum":100,"maximum":3600000,"update":"nullable"},
  "settings/object_storage_use_cluster_function": {"default":true,"update":"nullable"},
  "settings/streaming_max_insert_wait_ms": {"default":5000,"minimum":500,"maximum":60000,"update":"nullable"},
  "startPaused": {"default":false},
} as const satisfies Record<string, FieldRules>
