// Failures of S3 and S3-compatible stores.

import { excerptOf } from '../../formats/decode/decode.ts'
import { readAwsError } from '../aws/aws-error.ts'
import { type AwsAttempt, awsFailure } from '../aws/aws-failure.ts'
import { type FailureCode, ProbeFailure } from '../source.ts'
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

const changed = ['NoSuchKey', 'PreconditionFailed', 'InvalidRange']

export function s3Failure(error: unknown, attempt: S3Attempt, signal: AbortSignal): ProbeFailure | ObjectChanged {
  const { step, endpoint, resource, fields } = attempt
  const failed = (code: FailureCode, reason: string, remedy: string, field: string): ProbeFailure =>
    new ProbeFailure({ step, code, reason, remedy, field })
  if (signal.aborted) {
    return failed(
      'timed_out',
      `${endpoint} did not answer in time`,
      'check that it works, and try again',
      fields.endpoint,
    )
  }
  const { name, status } = readAwsError(error)
  const isOfObject = attempt.action === 's3:GetObject'
  if (isOfObject && (changed.includes(name) || (attempt.mayBeBare && isUnclear(name, status)))) {
    return new ObjectChanged()
  }
  if (name === 'InvalidObjectState') {
    const remedy = 'restore it, or use a pattern that leaves it out'
    return new ObjectUnavailable({
      step,
      code: 'not_set_up',
      reason: `${resource} is archived`,
      remedy,
      field: fields.resource,
    })
  }
  // Name that the client gives to an answer without an error code. A store returns a code for what is missing.
  const isNameless = name === 'NotFound' && !attempt.mayBeBare
  const failure = awsFailure(isNameless ? undefined : error, attempt)
  if (failure.code !== 'permission_missing' || !attempt.isPublic) return failure
  const reason = `${resource} is not open to everyone for ${attempt.action}`
  return failed('permission_missing', reason, 'send an access key, or make it public', 'authentication')
}

/** An answer without an error code: the cause may be the object or something else. */
function isUnclear(name: string, status: number | undefined): boolean {
  return status === 404 || (status === 400 && name === '')
}
