// Parses errors of AWS SDK clients. Services have different names for the same error.

export interface AwsError {
  /** Error code of the service; empty when the response has no code. */
  name: string
  /** HTTP status; undefined without a response. */
  status: number | undefined
  /** The connection ended within the response. */
  isBroken: boolean
  /** Never shown to users. */
  message: string
  /** The region of the resource, when the service reports it. */
  region: string | undefined
}

/** In order of precedence. */
export const errorNames = {
  skewed: ['RequestTimeTooSkewed', 'RequestExpired', 'RequestInTheFuture'],
  elsewhere: ['PermanentRedirect', 'Redirect', 'TemporaryRedirect', 'IllegalLocationConstraintException'],
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
  keyDenied: ['KMSAccessDeniedException', 'KmsAccessDenied'],
  keyUnusable: [
    'KMSDisabledException',
    'KMSInvalidStateException',
    'KMSNotFoundException',
    'KMSOptInRequired',
    'KmsDisabled',
    'KmsInvalidState',
    'KmsNotFound',
    'KmsOptInRequired',
  ],
  missing: [
    'ResourceNotFoundException',
    'NoSuchBucket',
    'NoSuchKey',
    'NotFound',
    'QueueDoesNotExist',
    'AWS.SimpleQueueService.NonExistentQueue',
    'InvalidAddress',
  ],
  changing: ['ResourceInUseException'],
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

/** Names that the SDK sets when the service sent no error code. */
const placeholderNames = ['Error', 'Unknown', 'UnknownError', 'SyntaxError', 'TypeError']

export function readAwsError(error: unknown): AwsError {
  const { name, code, Code, message, Region, $metadata, $response } = (error ?? {}) as Record<string, unknown>
  const status = ($metadata as { httpStatusCode?: unknown } | undefined)?.httpStatusCode
  const headers = ($response as { headers?: Record<string, unknown> } | undefined)?.headers
  const region = Region ?? headers?.['x-amz-bucket-region']
  const given = [name, Code].find((each) => typeof each === 'string' && !placeholderNames.includes(each))
  return {
    name: typeof given === 'string' ? given : '',
    status: typeof status === 'number' ? status : undefined,
    // The SDK reports these as timeouts.
    isBroken: code === 'ECONNRESET' || code === 'EPIPE',
    message: typeof message === 'string' ? message : '',
    region: typeof region === 'string' && /^[a-z0-9-]{1,64}$/.test(region) ? region : undefined,
  }
}
