// Registry of the kinds of source, and the questions about a kind that do not depend on its fields.
import { kafka } from './kafka-source.ts'
import { kinesis } from './kinesis-source.ts'
import { objectStorage } from './object-storage-source.ts'
import { postgres } from './postgres-source.ts'
import type { SourceKind, SourceKindName } from './source-kind.ts'

const sourceKinds = { kafka, kinesis, objectStorage, postgres } satisfies Record<SourceKindName, unknown>

/** The source kind by its name, untyped because the name is known only at run time. */
export function sourceKind(kind: SourceKindName): SourceKind<object, object, object> {
  return sourceKinds[kind] as unknown as SourceKind<object, object, object>
}

type KindsThatRead<Read> = {
  [Kind in SourceKindName]: (typeof sourceKinds)[Kind]['reads'] extends Read ? Kind : never
}[SourceKindName]

/** Whether a pipe of this kind replicates tables with their changes: one worker, several destination tables, `resync`. */
export function readsTables(kind: SourceKindName | undefined): kind is KindsThatRead<'tables'> {
  return kind !== undefined && sourceKinds[kind].reads === 'tables'
}

/** Whether a pipe of this kind loads whole objects. */
export function readsObjects(kind: SourceKindName): kind is KindsThatRead<'objects'> {
  return sourceKinds[kind].reads === 'objects'
}
