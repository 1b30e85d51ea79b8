// What the tests of the four kinds of pipe have in common.
import type { SourceKindName, StoredPipe } from '../src/pipes/pipe.ts'
import { findPipe } from '../src/pipes/store.ts'
import type { TestApp, TestResponse } from './harness.ts'

export interface PipeTools {
  /** The text of every answer that `patch` got, to be searched for secrets. */
  answers: string[]
  path(pipeId: string): string
  /** The pipe as it is stored. */
  load(pipeId: string): Promise<StoredPipe>
  /** Sends a change of the source; a refusal comes with the fields that are wrong. */
  patch(pipeId: string, source: unknown, more?: object): Promise<TestResponse>
}

export function pipeTools(app: () => TestApp, kind: SourceKindName): PipeTools {
  const answers: string[] = []
  const path = (pipeId: string) =>
    `/v1/organizations/${app().sample.organizationId}/services/${app().sample.serviceId}/pipes/${pipeId}`
  return {
    answers,
    path,
    load: async (pipeId) => {
      const { organizationId, serviceId } = app().sample
      return (await findPipe(app().sql, { organizationId, serviceId, pipeId }))!
    },
    patch: async (pipeId, source, more = {}) => {
      const answer = await app().request('PATCH', path(pipeId), {
        body: { source: { [kind]: source }, ...more },
        headers: { accept: 'application/problem+json' },
      })
      answers.push(answer.text)
      return answer
    },
  }
}
