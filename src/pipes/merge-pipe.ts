// What a pipe becomes by an update, before anything of it is stored.
import { isDeepStrictEqual } from 'node:util'
import { mergePatch } from '../lib/merge-patch.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { destinationProblems } from './destination.ts'
import { type PipePatch, type StoredPipe, sourceKind } from './pipe.ts'
import type { PipeSource, SourceSecrets } from './pipe-source.ts'

export interface MergedPipe {
  pipe: StoredPipe
  /** Undefined when the source is left alone, and with it its secrets. */
  secrets: SourceSecrets | undefined
  /** The names of the secrets that are not what they were, or that were sent again for where the source is now. */
  changedSecrets: string[]
  /** What is stored of the secrets is not what it was. */
  mustSeal: boolean
}

/** The pipe after the update, checked as a whole with its stored secrets (docs/contract.md, section 5). */
export function mergePipe(pipe: StoredPipe, patch: PipePatch, stored: () => SourceSecrets): MergedPipe {
  const problems: FieldProblem[] = []
  const { validateSamples: _, ...sources } = patch.source ?? {}
  for (const kind of Object.keys(sources)) {
    if (kind === pipe.kind) continue
    problems.push({ path: `source.${kind}`, detail: `source.${kind} does not fit: this is a ${pipe.kind} pipe` })
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
  // A source that is left alone keeps the rules that it kept before: its secrets need not be opened.
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
  // A destination that is left alone keeps the rules that it kept when it was made, or by an older Penstock.
  if (patch.destination?.columns || patch.fieldMappings) {
    problems.push(...destinationProblems(pipe.kind, merged.destination, merged.fieldMappings))
  }
  if (problems.length > 0) throw invalidBody(problems)
  return { pipe: merged, secrets, changedSecrets, mustSeal }
}

/** Whether the request has a password for where the source will be. */
function bringsPassword(patch: PipePatch | undefined): boolean {
  const credentials: { password?: string } = patch?.source?.postgres?.credentials ?? {}
  return credentials.password !== undefined
}

function secretDifferences(before: SourceSecrets, after: SourceSecrets): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof SourceSecrets>
  names.delete('passwordFor')
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
