// A change: sends a call, then has everything of the organization read again.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import { PenstockError } from '../../src/client/error.ts'
import { type ApiCall, makeFormClient } from './client.ts'

export interface ChangeOptions<Result> {
  organizationId: string
  onDone?: (answer: Answer<Result>) => void | Promise<void>
}

/** `send(call)` resolves when pages show the change; on failure `error` tells why, and `send` resolves to undefined. */
export function useChange<Result = unknown>({ organizationId, onDone }: ChangeOptions<Result>) {
  const queries = useQueryClient()
  const [client] = useState(makeFormClient)
  const mutation = useMutation<Answer<Result>, PenstockError, ApiCall<Result>>({
    mutationFn: (call) => call(client),
    // What was sent may have secrets in it, which must not outlive the form.
    gcTime: 0,
    onSuccess: async (answer) => {
      // What was there before may be gone: a page about it must not ask for it again before it is left.
      // What fails from here on does not undo the change: it must not be told as if nothing was changed.
      try {
        await onDone?.(answer)
      } catch (error) {
        if (!(error instanceof PenstockError)) reportError(error)
      }
      await queries.invalidateQueries({ queryKey: [organizationId] })
    },
  })
  return {
    send: (call: ApiCall<Result>) => mutation.mutateAsync(call).catch(() => undefined),
    isSending: mutation.isPending,
    error: mutation.error,
    reset: mutation.reset,
  }
}

/** What is wrong with one field, as the API said it: `fieldError(error, 'ipAccessList/0/source')`. */
export function fieldError(error: PenstockError | null | undefined, field: string): string | undefined {
  return error?.errors.find(({ pointer }) => pointer === `#/${field}` || pointer === field)?.detail
}

export function asPenstockError(error: unknown): PenstockError {
  if (error instanceof PenstockError) return error
  return new PenstockError(error instanceof Error ? error.message : String(error), { status: 0, code: 'no_answer' })
}
