// Location of the queue of a source, parsed from its `queueUrl` without network access. An invalid URL is a ProbeFailure.
import { asciiLowerCase } from '../../lib/ascii-case.ts'
import { lastSegment, withoutTrailingSlashes } from '../../lib/url-path.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { Address } from './object-address.ts'
import type { ObjectLocation } from './object-location.ts'

export interface QueueLocation {
  /** Without a query. */
  url: string
  /** Scheme, host and port. */
  endpoint: string
  host: string
  /** For messages to the user. */
  name: string
}

const awsHost =
  /(?:^|\.)(?:sqs(?:-fips)?\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)(?:\.vpce)?\.(?:api\.aws|amazonaws\.(?:com(?:\.cn)?|eu))$/

/** Throws a ProbeFailure of the step `connect`. */
export function queueLocationOf(queueUrl: string, location: ObjectLocation): QueueLocation {
  const url = URL.canParse(queueUrl) ? new URL(queueUrl) : undefined
  const path = withoutTrailingSlashes(url?.pathname ?? '')
  const name = lastSegment(path)
  if (!url || !/^https?:$/.test(url.protocol) || !/^[\w.-]{1,128}$/.test(name)) {
    const example =
      location.kind === 'azure'
        ? 'https://account.queue.core.windows.net/queue'
        : 'https://sqs.eu-west-1.amazonaws.com/123456789012/queue'
    throw new ProbeFailure({
      step: 'connect',
      code: 'not_found',
      reason: 'queueUrl names no queue',
      remedy: `write it as ${example}`,
      field: 'queueUrl',
    })
  }
  return { url: `${url.origin}${path}`, endpoint: url.origin, host: url.host, name }
}

export function queueAddress({ url, host }: QueueLocation): Address {
  return { url: new URL(url), shown: host, field: 'queueUrl', isOperatorSet: false }
}

/** For messages to the user. */
export function shownQueue({ host }: QueueLocation): string {
  return `the queue at ${host}`
}

/** Region in the host name of an SQS queue. */
export function regionOfHost(host: string): string | undefined {
  const [, region, oldRegion] = awsHost.exec(asciiLowerCase(host)) ?? []
  return region ?? oldRegion
}
