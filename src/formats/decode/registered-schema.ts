// Schemas of a schema registry.

export type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON'

export interface SchemaReference {
  /** Full name of an Avro type, or import path of Protobuf. */
  name: string
  subject: string
  version: number
}

export interface RegisteredSchema {
  type: SchemaType
  schema: string
  /** Direct and indirect references; a schema comes after its references. */
  references: (SchemaReference & { schema: string })[]
}

export interface SchemaRegistry {
  /** `namedBy`: what refers to the schema, for the reason of a failure, such as `record 2`. Rejects with a ProbeFailure. */
  loadSchema(id: number, namedBy?: string): Promise<RegisteredSchema>
}
