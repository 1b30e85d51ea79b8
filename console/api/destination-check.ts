// Checks that the engine has the database and table of a new pipe's destination. Changes nothing.
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { PenstockError } from '../../src/client/error.ts'
import type { DestinationCheckRequest } from '../../src/client/shapes.ts'
import { asPenstockError } from './change.ts'
import { api } from './client.ts'
import { rereadSession } from './session.ts'

interface Outcome {
  askedKey: string
  /** Validation errors with pointers to fields of the form. */
  wrong?: PenstockError
  /** Error that prevented the check. */
  failure?: PenstockError
  databases?: string[]
}

export interface DestinationCheck {
  isRunning: boolean
  /** Outcome for the current destination in the form. */
  outcome: Outcome | undefined
  /** Resolves to true when the check passes. */
  run: () => Promise<boolean>
}

export function useDestinationCheck(
  params: { organizationId: string; serviceId: string },
  body: DestinationCheckRequest,
): DestinationCheck {
  const queries = useQueryClient()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isRunning, setRunning] = useState(false)
  const key = JSON.stringify([params.serviceId, body])
  const run = async (): Promise<boolean> => {
    setRunning(true)
    try {
      const { errors, databases } = (await api.checkDestination(params, body)).result
      setOutcome({ askedKey: key, databases, ...(errors.length > 0 ? { wrong: inForm(errors) } : {}) })
      return errors.length === 0
    } catch (error) {
      setOutcome({ askedKey: key, failure: asPenstockError(error) })
      await rereadSession(queries, error)
      return false
    } finally {
      setRunning(false)
    }
  }
  return { isRunning, outcome: outcome?.askedKey === key ? outcome : undefined, run }
}

function inForm(errors: { pointer: string; detail: string }[]): PenstockError {
  return new PenstockError('The engine does not have what the destination names', {
    status: 200,
    code: 'destination_not_found',
    errors: errors.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^#/, '#/destination'), detail })),
  })
}
