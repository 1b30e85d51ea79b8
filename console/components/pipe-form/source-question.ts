// What a check of a source asks, from what stands in a form: the source alone, for a pipe that is not there yet, or a pipe as
// the changes of the form would make it.
import type { PenstockError } from '../../../src/client/error.ts'
import type { Pipe, PipePatch } from '../../../src/client/shapes.ts'
import type { SourceQuestion } from '../../api/check-state.ts'
import { withFieldErrors } from '../../api/field-errors.ts'
import { kindOf } from '../pipe-fields.ts'
import { sourceOf } from './create-body.ts'
import type { PipeDraft } from './create-draft.ts'
import { isCompleteMapping } from './table-mapping.ts'

export function questionOfDraft(draft: PipeDraft): SourceQuestion {
  const { kind } = draft
  const { postgres, ...others } = sourceOf(draft)
  if (!postgres) {
    const sourceKey = JSON.stringify(others)
    return { body: { source: others }, kind, sourceKey, tablesKey: '', fitKey: '', inForm: (error) => error }
  }
  const { tableMappings, ...rest } = postgres
  // A table whose names are not all there yet is not asked about.
  const asked = tableMappings.flatMap((mapping, index) => (isCompleteMapping(mapping) ? [index] : []))
  const mappings = asked.length > 0 ? { tableMappings: asked.map((index) => tableMappings[index]!) } : {}
  return {
    body: { source: { postgres: { ...rest, ...mappings } } },
    kind,
    sourceKey: JSON.stringify(rest),
    tablesKey: JSON.stringify(mappings),
    fitKey: '',
    inForm: (error) =>
      withPointers(error, (pointer) =>
        pointer.replace(
          /^(#\/source\/postgres\/tableMappings\/)(\d+)/,
          (_, list: string, index: string) => `${list}${asked[Number(index)] ?? index}`,
        ),
      ),
  }
}

export function questionOfPipe(pipe: Pipe, patch: PipePatch | undefined): SourceQuestion {
  const { source = {}, destination, fieldMappings = pipe.fieldMappings } = patch ?? {}
  const { tableMappingsToAdd, tableMappingsToRemove, ...postgres } = source.postgres ?? {}
  const { tableMappings, ...presentPostgres } = pipe.source.postgres ?? {}
  return {
    body: { pipeId: pipe.id, ...(patch ? { patch } : {}) },
    kind: kindOf(pipe),
    sourceKey: JSON.stringify([
      { ...pipe.source, postgres: presentPostgres },
      { ...source, postgres },
    ]),
    tablesKey: JSON.stringify([tableMappings, tableMappingsToRemove, tableMappingsToAdd]),
    fitKey: JSON.stringify([destination?.columns ?? pipe.destination.columns, fieldMappings]),
    inForm: (error) => withPointers(error, (pointer) => pointer.replace(/^#\/patch\//, '#/')),
  }
}

function withPointers(error: PenstockError, place: (pointer: string) => string): PenstockError {
  const placed = error.errors.map(({ pointer, detail }) => ({ pointer: place(pointer), detail }))
  return withFieldErrors(error, placed)
}
