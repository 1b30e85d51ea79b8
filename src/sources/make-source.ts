// Creates a source by its kind. The client of a vendor is loaded when it is first needed.
import type { PipeSource, SourceKindName } from '../source-shapes/source-kind.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
import type { ReadableSource, Source, SourceContext } from './source.ts'

/** Kinds that can be read from a position. */
export type ReadableKind = Exclude<SourceKindName, 'postgres'>

export async function makeSource(kind: SourceKindName, source: PipeSource, context: SourceContext): Promise<Source> {
  if (!readsTables(kind)) return makeReadableSource(kind, source, context)
  const { makePostgresSource } = await import('./postgres/postgres.ts')
  return makePostgresSource(source.shown as never, source.secrets, context)
}

export async function makeReadableSource(
  kind: ReadableKind,
  { shown, secrets }: PipeSource,
  context: SourceContext,
): Promise<ReadableSource> {
  switch (kind) {
    case 'kafka':
      return (await import('./kafka/kafka.ts')).makeKafkaSource(shown as never, secrets, context)
    case 'kinesis':
      return (await import('./kinesis/kinesis.ts')).makeKinesisSource(shown as never, secrets, context)
    case 'objectStorage': {
      const { makeObjectStorageSource } = await import('./object-storage/object-storage.ts')
      return makeObjectStorageSource(shown as never, secrets, context)
    }
  }
}
