// Request of a source check from a form: the source of a new pipe, or an existing pipe with the changes of the form.
import type { PenstockError } from '../../../src/client/error.ts'
import type { Pipe, PipePatch } from '../../../src/client/shapes.ts'
import type { SourceQuestion } from '../../api/check-state.ts'
import { withFieldErrors } from '../../api/field-errors.ts'
import { kindOf } from '../pipe-fields.ts'
import { sourceOf } from './body.ts'
import type { PipeDraft } from './pipe-draft.ts'
import { isCompleteMapping } from './table-mapping.ts'

export function questionOfDraft(draft: PipeDraft): SourceQuestion {
  const { kind } = draft
  const { postgres, ...others } = sourceOf(draft)
  if (!postgres) {
    const sourceKey = JSON.stringify(others)
    return { body: { source: others }, kind, sourceKey, tablesKey: '', fitKey: '', inForm: (error) => error }
  }
  const { tableMappings = [], ...rest } = postgres
  // Tables without complete names are skipped.
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

function withPointers(error: PenstockError, toFormPointer: (pointer: string) => string): PenstockError {
  const errors = error.errors.map(({ pointer, detail }) => ({ pointer: toFormPointer(pointer), detail }))
  return withFieldErrors(error, errors)
}
