import { isDeepStrictEqual } from 'node:util'
import { type Change, operation } from '../http/operation.ts'
import { differences, hasValue, mergePatch } from '../lib/merge-patch.ts'
import { type FieldProblem, invalidBody, Problem } from '../lib/problem.ts'
import { loadService } from '../services/service.ts'
import { destinationProblems } from './destination.ts'
import { Pipe, PipePatch, PipePath, pipeNotFound, type StoredPipe, showPipe, sourceKind } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import type { PipeSource, SourceSecrets } from './pipe-source.ts'
import { findPipe, lockPipe, openSecrets, sealSecrets, updatePipeRow } from './store.ts'

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
    'in use switches the authentication to it.',
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
  async run({ sql, vault, now, requireVersion, record }, { params, body }) {
    const pipe = await lockPipe(sql, params)
    if (!pipe) {
      await loadService(sql, params.organizationId, params.serviceId)
      throw pipeNotFound(params.serviceId, params.pipeId)
    }
    requireVersion(String(pipe.version))
    if (!hasValue(body)) {
      throw new Problem(
        'nothing_to_update',
        'the body has nothing to update; send at least one field that may be changed',
      )
    }

    const merged = mergePipe(pipe, body, () => openSecrets(vault, pipe))
    if (body.source?.validateSamples) throw samplesNotValidated(pipe)

    const secretFields = merged.changedSecrets.map((name) => `source.${pipe.kind}.${name}`)
    const changes: Change[] = [
      // A connection string is shown masked; that it changed is all there is to say.
      ...differences(showPipe(pipe), showPipe(merged.pipe)).filter(({ field }) => !secretFields.includes(field)),
      ...secretFields.map((field) => ({ field, to: 'changed' })),
    ]
    if (changes.length === 0) return { result: showPipe(pipe), version: String(pipe.version) }

    const updated: StoredPipe = {
      ...merged.pipe,
      sealedSecrets: secretFields.length > 0 ? sealSecrets(vault, pipe, merged.secrets) : pipe.sealedSecrets,
      // The clocks of two processes may differ; time does not run backwards for a reader.
      updatedAt: now > pipe.updatedAt ? now : pipe.updatedAt,
      version: pipe.version + 1,
    }
    await updatePipeRow(sql, updated)
    record({ type: 'pipe', id: pipe.id, serviceId: pipe.serviceId }, changes)
    return { result: showPipe(updated), version: String(updated.version) }
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
  problems.push(...destinationProblems(merged.destination, merged.fieldMappings))
  if (problems.length > 0) throw invalidBody(problems)
  return { pipe: merged, secrets, changedSecrets }
}

function secretDifferences(before: SourceSecrets, after: SourceSecrets): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof SourceSecrets>
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
}

function samplesNotValidated(pipe: StoredPipe): Problem {
  const detail = `source.validateSamples: samples of a ${pipe.kind} source cannot be validated yet; send false or leave it out`
  return new Problem('source_not_validated', detail, { fields: [{ path: 'source.validateSamples', detail }] })
}
