// The errors of AWS, as far as they mean something to us. Services have different names for the same thing.

export interface AwsError {
  /** As the service calls it; empty when it has no name. */
  name: string
  /** Undefined when there was no answer. */
  status: number | undefined
  /** The connection ended before the answer did. */
  isBroken: boolean
  /** Never to be told. */
  message: string
  /** Where the thing is, when the service says so. */
  region: string | undefined
}

export const errorNames = {
  unknownKey: ['UnrecognizedClientException', 'InvalidAccessKeyId', 'InvalidClientTokenId', 'InvalidToken'],
  signature: ['SignatureDoesNotMatch', 'InvalidSignatureException'],
  expired: ['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired'],
  unsigned: [
    'MissingAuthenticationToken',
    'MissingAuthenticationTokenException',
    'IncompleteSignature',
    'IncompleteSignatureException',
    'AuthorizationHeaderMalformed',
    'InvalidSecurity',
    'NotSignedUp',
    'OptInRequired',
  ],
  denied: ['AccessDenied', 'AccessDeniedException', 'AllAccessDisabled', 'AccountProblem', 'Forbidden'],
  missing: [
    'ResourceNotFoundException',
    'NoSuchBucket',
    'NoSuchKey',
    'NotFound',
    'QueueDoesNotExist',
    'AWS.SimpleQueueService.NonExistentQueue',
    'InvalidAddress',
  ],
  elsewhere: ['PermanentRedirect', 'Redirect', 'TemporaryRedirect', 'IllegalLocationConstraintException'],
  skewed: ['RequestTimeTooSkewed', 'RequestExpired', 'RequestInTheFuture'],
  lockedAway: [
    'KMSDisabledException',
    'KMSInvalidStateException',
    'KMSNotFoundException',
    'KMSOptInRequired',
    'KmsDisabled',
    'KmsInvalidState',
    'KmsNotFound',
    'KmsOptInRequired',
  ],
  keyDenied: ['KMSAccessDeniedException', 'KmsAccessDenied'],
  throttled: [
    'ProvisionedThroughputExceededException',
    'LimitExceededException',
    'KMSThrottlingException',
    'Throttling',
    'ThrottlingException',
    'ThrottledException',
    'RequestLimitExceeded',
    'TooManyRequestsException',
    'SlowDown',
    'RequestThrottled',
    'KmsThrottled',
    'OverLimit',
  ],
}

/** Names that a client gives when the service gave none. */
const namesOfNothing = ['Error', 'Unknown', 'UnknownError', 'SyntaxError', 'TypeError']

export function readAwsError(error: unknown): AwsError {
  const { name, code, Code, message, Region, $metadata, $response } = (error ?? {}) as Record<string, unknown>
  const status = ($metadata as { httpStatusCode?: unknown } | undefined)?.httpStatusCode
  const headers = ($response as { headers?: Record<string, unknown> } | undefined)?.headers
  const region = Region ?? headers?.['x-amz-bucket-region']
  const given = [name, Code].find((each) => typeof each === 'string' && !namesOfNothing.includes(each))
  return {
    name: typeof given === 'string' ? given : '',
    status: typeof status === 'number' ? status : undefined,
    // The client calls these timeouts.
    isBroken: code === 'ECONNRESET' || code === 'EPIPE',
    message: typeof message === 'string' ? message : '',
    region: typeof region === 'string' && /^[a-z0-9-]{1,64}$/.test(region) ? region : undefined,
  }
}
