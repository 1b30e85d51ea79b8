// Failures of S3 and S3-compatible stores.

import { excerptOf } from '../../formats/undecodable.ts'
import type { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { readAwsError } from '../aws/aws-error.ts'
import { type AwsAttempt, awsFailure } from '../aws/aws-failure.ts'
import { failureTable } from '../failure.ts'
import type { BucketLocation } from './object-location.ts'
import { ObjectChanged, ObjectUnavailable } from './object-store.ts'

export interface S3Attempt extends AwsAttempt {
  isPublic: boolean
}

interface S3Caller {
  credentials: unknown
  /** The field that the credentials came in. */
  field: string
}

export function listAttempt(location: BucketLocation, caller: S3Caller): S3Attempt {
  const resource = `the bucket "${location.bucket}"`
  return { ...attemptAt(location, caller), step: 'describe', resource, action: 's3:ListBucket' }
}

export function readAttempt(location: BucketLocation, caller: S3Caller, key: string): S3Attempt {
  const resource = `the object ${excerptOf(key, 200)} in the bucket "${location.bucket}"`
  return { ...attemptAt(location, caller), step: 'read', resource, action: 's3:GetObject' }
}

function attemptAt(
  location: BucketLocation,
  { credentials, field }: S3Caller,
): Omit<S3Attempt, 'step' | 'resource' | 'action'> {
  const fields = { endpoint: 'url', credentials: field, resource: 'url' }
  return { service: 'S3', endpoint: new URL(location.endpoint).host, fields, isPublic: credentials === undefined }
}

const failureFor = failureTable('{step}', undefined, {
  silent: ['timed_out', '{endpoint} did not answer in time', 'check that it works, and try again', '{endpointField}'],
  archived: [
    'not_set_up',
    '{resource} is archived',
    'restore it, or use a pattern that leaves it out',
    '{resourceField}',
  ],
  notPublic: [
    'permission_missing',
    '{resource} is not open to everyone for {action}',
    'send an access key, or make it public',
    'authentication',
  ],
})

const changed = ['NoSuchKey', 'PreconditionFailed', 'InvalidRange']

export function s3Failure(error: unknown, attempt: S3Attempt, signal: AbortSignal): ProbeFailure | ObjectChanged {
  const { action, fields, mayBeBare } = attempt
  const values = { ...attempt, endpointField: fields.endpoint, resourceField: fields.resource }
  if (signal.aborted) return failureFor('silent', values)
  const { name, status } = readAwsError(error)
  const isChanged = changed.includes(name) || (mayBeBare && isUnclear(name, status))
  if (action === 's3:GetObject' && isChanged) return new ObjectChanged()
  if (name === 'InvalidObjectState') return new ObjectUnavailable(failureFor('archived', values))
  // Name that the client gives to an answer without an error code. A store returns a code for what is missing.
  const isNameless = name === 'NotFound' && !mayBeBare
  const failure = awsFailure(isNameless ? undefined : error, attempt)
  return failure.code === 'permission_missing' && attempt.isPublic ? failureFor('notPublic', values) : failure
}

/** An answer without an error code: the cause may be the object or something else. */
function isUnclear(name: string, status: number | undefined): boolean {
  return status === 404 || (status === 400 && name === '')
}
