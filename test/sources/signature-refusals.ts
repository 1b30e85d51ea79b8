// Error responses of AWS services for requests that fail the signature check. Error codes differ between services.
import { randomUUID } from 'node:crypto'

export type CheckedService = 's3' | 'kinesis' | 'sts' | 'sqs'

export type Refusal =
  | 'unsigned'
  | 'unknown key'
  | 'token'
  | 'expired'
  | 'signature'
  | 'skewed'
  | 'other region'
  | 'denied'

export interface Answer {
  status: number
  contentType: string
  body: string
}

type Words = [status: number, code: string, message: string]

const mismatch =
  'The request signature we calculated does not match the signature you provided. Check your key and signing method.'
const stale = 'Signature expired: the time of the request is too far from the time of the server.'
const invalidToken = 'The security token included in the request is invalid.'
const expiredToken = 'The security token included in the request is expired'

const words: Record<CheckedService, Record<Refusal, Words>> = {
  kinesis: {
    unsigned: [400, 'MissingAuthenticationTokenException', 'Missing Authentication Token'],
    'unknown key': [400, 'UnrecognizedClientException', invalidToken],
    token: [400, 'UnrecognizedClientException', invalidToken],
    expired: [400, 'ExpiredTokenException', expiredToken],
    signature: [400, 'InvalidSignatureException', mismatch],
    skewed: [400, 'InvalidSignatureException', stale],
    'other region': [400, 'InvalidSignatureException', 'Credential should be scoped to a valid region.'],
    denied: [400, 'AccessDeniedException', 'User is not authorized to perform this action'],
  },
  sqs: {
    unsigned: [403, 'MissingAuthenticationTokenException', 'Request is missing Authentication Token'],
    'unknown key': [403, 'InvalidClientTokenId', invalidToken],
    token: [403, 'InvalidClientTokenId', invalidToken],
    expired: [403, 'ExpiredToken', expiredToken],
    signature: [403, 'SignatureDoesNotMatch', mismatch],
    skewed: [403, 'SignatureDoesNotMatch', stale],
    'other region': [403, 'SignatureDoesNotMatch', 'Credential should be scoped to a valid region.'],
    denied: [403, 'AccessDenied', 'User is not authorized to perform this action'],
  },
  sts: {
    unsigned: [403, 'MissingAuthenticationToken', 'Request is missing Authentication Token'],
    'unknown key': [403, 'InvalidClientTokenId', invalidToken],
    token: [403, 'InvalidClientTokenId', invalidToken],
    expired: [403, 'ExpiredToken', expiredToken],
    signature: [403, 'SignatureDoesNotMatch', mismatch],
    skewed: [403, 'SignatureDoesNotMatch', stale],
    'other region': [403, 'SignatureDoesNotMatch', 'Credential should be scoped to a valid region.'],
    denied: [403, 'AccessDenied', 'User is not authorized to perform this action'],
  },
  s3: {
    unsigned: [403, 'AccessDenied', 'Access Denied'],
    'unknown key': [403, 'InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.'],
    token: [400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.'],
    expired: [400, 'ExpiredToken', 'The provided token has expired.'],
    signature: [403, 'SignatureDoesNotMatch', mismatch],
    skewed: [403, 'RequestTimeTooSkewed', 'The difference between the request time and the current time is too large.'],
    'other region': [400, 'AuthorizationHeaderMalformed', 'The authorization header is malformed; the region is wrong'],
    denied: [403, 'AccessDenied', 'Access Denied'],
  },
}

export function answerOf(service: CheckedService, refusal: Refusal, region: string): Answer {
  const [status, code, message] = words[service][refusal]
  const more = refusal === 'other region' && service === 's3' ? `<Region>${region}</Region>` : ''
  return errorAnswer(service, status, code, message, more)
}

/** An error in the format of the service. `more` is XML. */
export function errorAnswer(service: CheckedService, status: number, code: string, message: string, more = ''): Answer {
  if (service === 'kinesis' || service === 'sqs') {
    const contentType = `application/x-amz-json-${service === 'sqs' ? '1.0' : '1.1'}`
    return { status, contentType, body: JSON.stringify({ __type: code, message }) }
  }
  const id = `<RequestId>${randomUUID()}</RequestId>`
  const error = `<Code>${code}</Code><Message>${message}</Message>${more}`
  const body =
    service === 's3'
      ? `<Error>${error}${id}</Error>`
      : `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>${error}</Error>${id}</ErrorResponse>`
  return { status, contentType: 'text/xml', body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}` }
}
