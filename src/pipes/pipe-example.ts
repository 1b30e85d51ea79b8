// Example pipe of the API documentation.
import type { Pipe } from './pipe.ts'
import { defaultSettings } from './settings.ts'

export const pipeExample: Pipe = {
  id: '3f2c1b6e-8d4a-4f0e-9b57-2a6d1c8e4f10',
  serviceId: '9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00',
  name: 'orders',
  state: 'Stopped',
  createdAt: '2026-10-20T08:30:00.000Z',
  updatedAt: '2026-11-01T12:00:00.000Z',
  destination: {
    database: 'analytics',
    table: 'orders',
    managedTable: true,
    columns: [
      { name: 'order_id', type: 'UInt64' },
      { name: 'customer', type: 'String' },
      { name: 'amount', type: 'Decimal(18, 2)' },
      { name: 'ordered_at', type: 'DateTime64(3)' },
    ],
    tableDefinition: {
      engine: { type: 'MergeTree' },
      partitionBy: 'toYYYYMM(ordered_at)',
      primaryKey: 'order_id',
      sortingKey: ['order_id'],
    },
  },
  fieldMappings: [{ destinationField: 'customer', sourceField: 'customer_name' }],
  scaling: { concurrency: 0, replicas: 1, replicaCpuMillicores: 125, replicaMemoryGb: 0.5 },
  settings: defaultSettings,
  source: {
    kafka: {
      type: 'kafka',
      authentication: 'PLAIN',
      brokers: 'broker-1.northwind.example:9092,broker-2.northwind.example:9092',
      topics: 'orders',
      consumerGroup: 'penstock-orders',
      format: 'JSONEachRow',
      offset: { strategy: 'from_beginning' },
      reversePrivateEndpointIds: [],
    },
  },
}
