// Hook for a change: sends a call, then refetches all data of the organization.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import { PenstockError } from '../../src/client/error.ts'
import { type ApiCall, makeFormClient, requestOf } from './client.ts'
import { notifyDone } from './done-notices.ts'
import { fieldWords } from './field-words.ts'
import { openErrors } from './open-errors.ts'

export interface ChangeOptions<Result> {
  organizationId: string
  /** Success message: "Pipe orders saved". Undefined where the page itself shows the result. */
  doneText: string | undefined
  onDone?: (answer: Answer<Result>) => void | Promise<void>
}

/** `send(call)` resolves when pages show the change; on failure it resolves to undefined and sets `error`. */
export function useChange<Result = unknown>({ organizationId, doneText, onDone }: ChangeOptions<Result>) {
  const queries = useQueryClient()
  const [client] = useState(makeFormClient)
  const sentBody = useRef<unknown>(undefined)
  const mutation = useMutation<Answer<Result>, PenstockError, ApiCall<Result>>({
    mutationFn: (call) => call(client),
    // The request may contain secrets, which must not outlive the form.
    gcTime: 0,
    onSuccess: async (answer) => {
      if (doneText !== undefined) notifyDone(doneText)
      // After a deletion, the page about the deleted object must not refetch it before it is left.
      // Later failures do not undo the change and must not be reported as a failed change.
      try {
        await onDone?.(answer)
      } catch (error) {
        if (!(error instanceof PenstockError)) reportError(error)
      }
      await queries.invalidateQueries({ queryKey: [organizationId] })
    },
  })
  return {
    send: (call: ApiCall<Result>) => {
      sentBody.current = requestOf(call).body
      return mutation.mutateAsync(call).catch(() => undefined)
    },
    isSending: mutation.isPending,
    error: mutation.error,
    /** Remaining errors of a form that would send this call now. */
    errorOf: (call: ApiCall<Result>) => openErrors(mutation.error, sentBody.current, requestOf(call).body),
    reset: mutation.reset,
  }
}

/** Error of one field, in the terms of the form: `fieldError(error, 'ipAccessList/0/source')`. */
export function fieldError(error: PenstockError | null | undefined, field: string): string | undefined {
  const found = error?.errors.find(({ pointer }) => pointer === `#/${field}` || pointer === field)
  return found && fieldWords(found.pointer, found.detail)
}

export function asPenstockError(error: unknown): PenstockError {
  if (error instanceof PenstockError) return error
  return new PenstockError(error instanceof Error ? error.message : String(error), { status: 0, code: 'no_answer' })
}
