import { differences, requireSomething } from '../lib/merge-patch.ts'
import { Problem } from '../lib/problem.ts'
import { operation } from '../operation/operation.ts'
import type { PostgresSource } from '../source-shapes/postgres-source.ts'
import { changePipe } from './change-pipe.ts'
import { mergePipe } from './merge-pipe.ts'
import { Pipe, PipePatch, PipePath, probeOf, showPipe } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import { findPipe, loadPipe, openSecrets, sealSecrets } from './store.ts'

function remedyFor(path: string): string | undefined {
  if (path === 'source.postgres.tableMappings') return 'send tableMappingsToAdd and tableMappingsToRemove'
  if (/^(?:source|destination)\./.test(path)) return 'create another pipe with it'
  if (path.startsWith('scaling.')) return 'PATCH …/pipes/{pipeId}/scaling changes it'
  return path === 'state' ? 'commands do that: PATCH …/pipes/{pipeId}/state' : undefined
}

export const updatePipe = operation({
  id: 'updatePipe',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}',
  tag: 'data pipes',
  summary: 'Update data pipe',
  description:
    'Changes the fields that are sent and keeps the others: objects are merged, lists are replaced, and `null` clears ' +
    'an optional field or resets a setting to its default. Penstock validates the merged pipe; if a field is ' +
    'invalid, nothing is changed. A running pipe keeps running.\n\n' +
    'Secrets (`credentials`, `accessKey`) are write-only. A request with exactly one kind of credential that is not ' +
    'in use switches the authentication to it. A request with several kinds stores them and does not switch. The ' +
    'credentials of a schema registry cannot be changed.',
  access: 'admin',
  activity: 'pipe_updated',
  wakes: ['runner'],
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
    remedyFor,
  },
  result: Pipe,
  problems: ['nothing_to_update', 'source_not_validated', 'changed_meanwhile'],
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
  prepare: {
    activity: 'pipe_password_tried',
    isNeeded: ({ source }) => source?.validateSamples === true,
    async run({ sql, vault, requireVersion, probe, record }, { params, body }) {
      const pipe = await loadPipe(sql, params)
      requireVersion(String(pipe.version))
      requireSomething(body)
      const merged = mergePipe(pipe, body, () => openSecrets(vault, pipe))
      const secrets = merged.secrets ?? openSecrets(vault, pipe)
      if (secrets.passwordFor !== undefined) {
        // Recorded before the attempt, so that it is visible even if the attempt fails.
        const target = { type: 'pipe', id: pipe.id, serviceId: pipe.serviceId }
        const { host, port } = merged.pipe.source as PostgresSource
        await record(
          target,
          differences({ source: { postgres: secrets.passwordFor } }, { source: { postgres: { host, port } } }),
        )
      }
      await probe(probeOf(merged.pipe, secrets, { mustFit: true }))
      return { version: pipe.version }
    },
  },
  async run(context, { params, body, prepared }) {
    const { vault } = context
    const pipe = await changePipe(context, params, (pipe) => {
      requireSomething(body)
      const { secrets, changedSecrets, mustSeal, ...merged } = mergePipe(pipe, body, () => openSecrets(vault, pipe))
      if (body.source?.validateSamples && prepared?.version !== pipe.version) throw changedMeanwhile()
      if (!secrets || !mustSeal) return merged
      return {
        pipe: { ...merged.pipe, sealedSecrets: sealSecrets(vault, pipe, secrets) },
        secretChanges: changedSecrets.map((name) => ({ field: `source.${pipe.kind}.${name}`, to: 'changed' })),
      }
    })
    return { result: showPipe(pipe), version: String(pipe.version) }
  },
})

function changedMeanwhile(): Problem {
  const detail = 'other requests changed the pipe while its source was being checked; send the request again'
  return new Problem('changed_meanwhile', detail)
}
