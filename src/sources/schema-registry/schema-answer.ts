// Parses answers of a schema registry to requests for a schema, by id or by subject and version.
import type { SchemaReference, SchemaType } from '../../formats/decode/registered-schema.ts'
import { isObject } from '../../lib/merge-patch.ts'

export interface SchemaAnswer {
  type: SchemaType
  schema: string
  references: SchemaReference[]
}

/** Undefined when the answer is not one of a schema registry. */
export function schemaOfAnswer(body: Buffer): SchemaAnswer | undefined {
  const answer = parse(body)
  if (!isObject(answer) || typeof answer.schema !== 'string') return undefined
  // The default is Avro, for compatibility with older registries.
  const { schema, schemaType = 'AVRO', references = [] } = answer
  if (schemaType !== 'AVRO' && schemaType !== 'PROTOBUF' && schemaType !== 'JSON') return undefined
  if (!Array.isArray(references) || !references.every(isReference)) return undefined
  return { type: schemaType, schema, references }
}

function isReference(value: unknown): value is SchemaReference {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    typeof value.subject === 'string' &&
    // Otherwise it cannot be encoded in a URL.
    value.subject.isWellFormed() &&
    Number.isSafeInteger(value.version)
  )
}

/** Error code of the registry, such as 40403. */
export function errorCodeOf(body: Buffer): number | undefined {
  const answer = parse(body)
  return isObject(answer) && typeof answer.error_code === 'number' ? answer.error_code : undefined
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
