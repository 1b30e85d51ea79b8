// Hook for console actions on the own account and session, which are not part of the API.
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { PenstockError } from '../../src/client/error.ts'
import { asPenstockError } from './change.ts'
import { withFieldErrors } from './field-errors.ts'
import { rereadSession } from './session.ts'

function withoutField(error: PenstockError, field: string): PenstockError | undefined {
  const errors = error.errors.filter(({ pointer }) => pointer.replace(/^#\//, '') !== field)
  if (errors.length === error.errors.length) return error
  return errors.length === 0 ? undefined : withFieldErrors(error, errors)
}

interface ActionState {
  isBusy: boolean
  error: PenstockError | undefined
}

/** `start` never throws: failures are in `error`. Code that follows a success belongs into `run`. */
export function useAction<Input extends unknown[]>(run: (...input: Input) => Promise<unknown>) {
  const queries = useQueryClient()
  const [state, setState] = useState<ActionState>({ isBusy: false, error: undefined })
  const start = async (...input: Input): Promise<void> => {
    setState({ isBusy: true, error: undefined })
    try {
      await run(...input)
      setState({ isBusy: false, error: undefined })
    } catch (error) {
      setState({ isBusy: false, error: asPenstockError(error) })
      await rereadSession(queries, error)
    }
  }
  /** Removes the error of a changed field. */
  const touch = (field: string): void =>
    setState(({ isBusy, error }) => ({ isBusy, error: error && withoutField(error, field) }))
  return { ...state, start, touch }
}
