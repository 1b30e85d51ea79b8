// Applies an update to a pipe, without storing it.
import { isDeepStrictEqual } from 'node:util'
import { mergePatch } from '../lib/merge-patch.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import type { PipeSource, SourceSecrets } from '../source-shapes/source-kind.ts'
import { sourceKind } from '../source-shapes/source-kinds.ts'
import { destinationProblems } from './destination.ts'
import type { PipePatch, StoredPipe } from './pipe.ts'

export interface MergedPipe {
  pipe: StoredPipe
  /** Undefined when the source is not changed. */
  secrets: SourceSecrets | undefined
  /** Names of the secrets that changed, or that were sent again for the current host of the source. */
  changedSecrets: string[]
  /** The secrets must be sealed and stored again. */
  mustSeal: boolean
}

/** The updated pipe, validated as a whole with its stored secrets (docs/reference/update-pipe.md). */
export function mergePipe(pipe: StoredPipe, patch: PipePatch, stored: () => SourceSecrets): MergedPipe {
  const problems: FieldProblem[] = []
  const { validateSamples: _, ...sources } = patch.source ?? {}
  for (const kind of Object.keys(sources)) {
    if (kind === pipe.kind) continue
    problems.push({ path: `source.${kind}`, detail: `source.${kind} is invalid: this is a ${pipe.kind} pipe` })
  }
  const merged: StoredPipe = {
    ...pipe,
    name: patch.name ?? pipe.name,
    destination: patch.destination?.columns
      ? { ...pipe.destination, columns: patch.destination.columns }
      : pipe.destination,
    fieldMappings: patch.fieldMappings ?? pipe.fieldMappings,
    settings: mergePatch(pipe.settings, patch.settings ?? {}),
  }
  let secrets: SourceSecrets | undefined
  let changedSecrets: string[] = []
  let mustSeal = false
  const sourcePatch = sources[pipe.kind]
  // An unchanged source was validated when it was stored: its secrets need not be opened.
  if (sourcePatch) {
    const before: PipeSource = { shown: { ...pipe.source }, secrets: stored() }
    const kind = sourceKind(pipe.kind)
    const after = kind.merge(before, sourcePatch, problems) as PipeSource
    problems.push(...kind.problems(after))
    merged.source = after.shown
    secrets = after.secrets
    changedSecrets = secretDifferences(before.secrets, after.secrets)
    mustSeal = !isDeepStrictEqual(before.secrets, after.secrets)
    const isConfirmed = before.secrets.passwordFor !== undefined && bringsPassword(patch)
    if (isConfirmed && !changedSecrets.includes('credentials')) changedSecrets.push('credentials')
  }
  // An unchanged destination is not validated again: an older Penstock may have accepted it.
  if (patch.destination?.columns || patch.fieldMappings) {
    problems.push(...destinationProblems(pipe.kind, merged.destination, merged.fieldMappings))
  }
  if (problems.length > 0) throw invalidBody(problems)
  return { pipe: merged, secrets, changedSecrets, mustSeal }
}

/** Whether the request has a password for the updated host. */
function bringsPassword(patch: PipePatch | undefined): boolean {
  const credentials: { password?: string } = patch?.source?.postgres?.credentials ?? {}
  return credentials.password !== undefined
}

function secretDifferences(before: SourceSecrets, after: SourceSecrets): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof SourceSecrets>
  names.delete('passwordFor')
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
