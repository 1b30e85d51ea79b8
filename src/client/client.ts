// TypeScript client with a method for each operation, published as `penstock-server/client`. See docs/reference/client.md.
import { basicAuthorization, type Connection, Transport } from './transport.ts'
import { TransportClient } from './transport-client.ts'

export type { Answer, CallOptions, VersionedWriteOptions, WriteOptions } from './caller.ts'
export { type ClientCode, type ErrorCode, type FieldError, PenstockError } from './error.ts'
export type { ListOperation } from './operations.ts'
export type * from './shapes.ts'
export type { ListItem, ListParams } from './transport-client.ts'
export type { Connection }

export class PenstockClient extends TransportClient {
  constructor(connection: Connection) {
    super(new Transport(connection, basicAuthorization(connection)))
  }
}
