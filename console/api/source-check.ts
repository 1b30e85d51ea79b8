// Checks a source without changes. Not cached, because the request contains secrets.
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { SchemaDiscovery } from '../../src/client/shapes.ts'
import { asPenstockError } from './change.ts'
import { type CheckOutcome, type CheckView, type SourceQuestion, viewOfCheck } from './check-state.ts'
import { type ApiCall, api } from './client.ts'
import { rereadSession } from './session.ts'

export interface SourceCheck extends CheckView {
  call: ApiCall<SchemaDiscovery>
  start: () => void
  cancel: () => void
}

export function useSourceCheck(
  params: { organizationId: string; serviceId: string },
  question: SourceQuestion,
  onStart?: () => void,
): SourceCheck {
  const queries = useQueryClient()
  const [outcome, setOutcome] = useState<CheckOutcome | 'running' | 'cancelled'>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const run = async (): Promise<void> => {
    const controller = new AbortController()
    const { signal } = controller
    running.current?.abort()
    running.current = controller
    setOutcome('running')
    onStart?.()
    try {
      const { result } = await api.discoverSchema(params, question.body, { signal })
      if (!signal.aborted) setOutcome({ asked: question, found: result })
    } catch (error) {
      if (signal.aborted) return
      setOutcome({ asked: question, error: question.inForm(asPenstockError(error)) })
      await rereadSession(queries, error)
    }
  }
  return {
    ...viewOfCheck(outcome, question),
    call: (client) => client.discoverSchema(params, question.body),
    start: () => void run(),
    cancel: () => {
      running.current?.abort()
      setOutcome('cancelled')
    },
  }
}
