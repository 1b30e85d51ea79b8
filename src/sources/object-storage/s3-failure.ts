// What went wrong at a store that speaks S3, in our own words.

import { excerptOf } from '../../formats/decode/decode.ts'
import { readAwsError } from '../aws/aws-error.ts'
import { type AwsAttempt, awsFailure } from '../aws/aws-failure.ts'
import { type FailureCode, ProbeFailure } from '../source.ts'
import type { BucketLocation } from './object-location.ts'
import { ObjectChanged, ObjectUnavailable } from './object-store.ts'

export interface S3Attempt extends AwsAttempt {
  isPublic: boolean
}

interface Who {
  credentials: unknown
  /** The field that the credentials came in. */
  field: string
}

export function listAttempt(place: BucketLocation, who: Who): S3Attempt {
  const thing = `the bucket "${place.bucket}"`
  return { ...attemptAt(place, who), step: 'describe', thing, needs: 's3:ListBucket' }
}

export function readAttempt(place: BucketLocation, who: Who, key: string): S3Attempt {
  const thing = `the object ${excerptOf(key, 200)} in the bucket "${place.bucket}"`
  return { ...attemptAt(place, who), step: 'read', thing, needs: 's3:GetObject' }
}

function attemptAt(place: BucketLocation, { credentials, field }: Who): Omit<S3Attempt, 'step' | 'thing' | 'needs'> {
  const fields = { place: 'url', credentials: field, thing: 'url' }
  return { service: 'S3', place: new URL(place.endpoint).host, fields, isPublic: credentials === undefined }
}

const changed = ['NoSuchKey', 'PreconditionFailed', 'InvalidRange']

export function s3Failure(error: unknown, attempt: S3Attempt, signal: AbortSignal): ProbeFailure | ObjectChanged {
  const { step, place, thing, fields } = attempt
  const failed = (code: FailureCode, reason: string, remedy: string, field: string): ProbeFailure =>
    new ProbeFailure({ step, code, reason, remedy, field })
  if (signal.aborted) {
    return failed('timed_out', `${place} did not answer in time`, 'check that it works, and try again', fields.place)
  }
  const { name, status } = readAwsError(error)
  const isOfObject = attempt.needs === 's3:GetObject'
  if (isOfObject && (changed.includes(name) || (attempt.mayBeBare && isUnclear(name, status)))) {
    return new ObjectChanged()
  }
  if (name === 'InvalidObjectState') {
    const remedy = 'restore it, or use a pattern that leaves it out'
    return new ObjectUnavailable({
      step,
      code: 'not_set_up',
      reason: `${thing} is archived`,
      remedy,
      field: fields.thing,
    })
  }
  // What the client calls an answer that has no name of its own. A store names what is missing.
  const isNameless = name === 'NotFound' && !attempt.mayBeBare
  const failure = awsFailure(isNameless ? undefined : error, attempt)
  if (failure.code !== 'permission_missing' || !attempt.isPublic) return failure
  const reason = `${thing} is not open to everyone for ${attempt.needs}`
  return failed('permission_missing', reason, 'send an access key, or make it public', 'authentication')
}

/** An answer without a name: it may be about the object, or about anything else. */
function isUnclear(name: string, status: number | undefined): boolean {
  return status === 404 || (status === 400 && name === '')
}
