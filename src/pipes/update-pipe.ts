import { isDeepStrictEqual } from 'node:util'
import { operation } from '../http/operation.ts'
import { mergePatch, requireSomething } from '../lib/merge-patch.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { changePipe } from './change-pipe.ts'
import { destinationProblems } from './destination.ts'
import { Pipe, PipePatch, PipePath, type StoredPipe, samplesNotValidated, showPipe, sourceKind } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import type { PipeSource, SourceSecrets } from './pipe-source.ts'
import { findPipe, openSecrets, sealSecrets } from './store.ts'

export const updatePipe = operation({
  id: 'updatePipe',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}',
  tag: 'data pipes',
  summary: 'Update data pipe',
  description:
    'Changes the fields that are sent and leaves the others as they are: objects merge, lists replace, `null` clears an ' +
    'optional field or resets a setting to its default. The merged pipe is checked as a whole; if anything is wrong, ' +
    'nothing is changed. A running pipe stays running: no pause is needed.\n\n' +
    'Secrets (`credentials`, `accessKey`) are write-only. A request that brings exactly one kind of credential that is not ' +
    'in use switches the authentication to it; one that brings several stores them and switches nothing. The credentials ' +
    'of a schema registry are set when the pipe is created and cannot be changed.',
  access: 'admin',
  activity: 'pipe_updated',
  stability: 'beta',
  versioned: true,
  params: PipePath,
  body: PipePatch,
  echo: {
    shape: Pipe,
    current: async ({ sql }, params) => {
      const pipe = await findPipe(sql, params)
      return pipe && showPipe(pipe)
    },
  },
  result: Pipe,
  problems: ['nothing_to_update', 'source_not_validated'],
  example: {
    summary: 'Rename, insert more often, rotate the password',
    body: {
      name: 'orders (eu)',
      settings: { streaming_max_insert_wait_ms: 1000 },
      source: { kafka: { credentials: { password: 'a-new-password' } } },
    },
    result: {
      ...pipeExample,
      name: 'orders (eu)',
      updatedAt: '2026-11-02T16:40:09.120Z',
      settings: { ...pipeExample.settings, streaming_max_insert_wait_ms: 1000 },
    },
  },
  async run(context, { params, body }) {
    const { vault } = context
    const pipe = await changePipe(context, params, (pipe) => {
      requireSomething(body)
      const { secrets, changedSecrets, ...merged } = mergePipe(pipe, body, () => openSecrets(vault, pipe))
      if (body.source?.validateSamples) throw samplesNotValidated(pipe.kind)
      if (changedSecrets.length === 0) return merged
      return {
        pipe: { ...merged.pipe, sealedSecrets: sealSecrets(vault, pipe, secrets) },
        secretChanges: changedSecrets.map((name) => ({ field: `source.${pipe.kind}.${name}`, to: 'changed' })),
      }
    })
    return { result: showPipe(pipe), version: String(pipe.version) }
  },
})

interface MergedPipe {
  pipe: StoredPipe
  secrets: SourceSecrets
  /** The names of the secrets that are not what they were. */
  changedSecrets: string[]
}

/** The pipe after the update, checked as a whole with its stored secrets (docs/contract.md, section 5). */
function mergePipe(pipe: StoredPipe, patch: PipePatch, stored: () => SourceSecrets): MergedPipe {
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
  let secrets: SourceSecrets = {}
  let changedSecrets: string[] = []
  const sourcePatch = sources[pipe.kind]
  // A source that is left alone keeps the rules that it kept before: its secrets need not be opened.
  if (sourcePatch) {
    const before: PipeSource = { shown: { ...pipe.source }, secrets: stored() }
    const kind = sourceKind(pipe.kind)
    const after = kind.merge(before, sourcePatch, problems) as PipeSource
    problems.push(...kind.problems(after))
    merged.source = after.shown
    secrets = after.secrets
    changedSecrets = secretDifferences(before.secrets, secrets)
  }
  // A destination that is left alone keeps the rules that it kept when it was made, or by an older Penstock.
  if (patch.destination?.columns || patch.fieldMappings) {
    problems.push(...destinationProblems(pipe.kind, merged.destination, merged.fieldMappings))
  }
  if (problems.length > 0) throw invalidBody(problems)
  return { pipe: merged, secrets, changedSecrets }
}

function secretDifferences(before: SourceSecrets, after: SourceSecrets): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof SourceSecrets>
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
