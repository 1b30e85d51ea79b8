// Queue of SQS or of a compatible service. All options of the client are set explicitly, so that it never uses endpoints or
// credentials of the environment of this process.
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { AwsCredentials } from '../aws/aws.ts'
import { awsFailure } from '../aws/aws-failure.ts'
import { awsClientDefaults, awsRequestHandler } from '../aws/aws-http.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { type MessageHandle, type MessageQueue, secondsOf } from './message-queue.ts'
import type { QueueLocation } from './queue-location.ts'

/** Batch limit of SQS. */
const maxMessages = 10
/** Limit of SQS for long polling. */
const maxWaitSeconds = 20
const maxHoldSeconds = 43_200

export interface SqsAccess {
  credentials: AwsCredentials
  /** The field of the source that they came in. */
  field: string
  region: string
}

type Action = 'ReceiveMessage' | 'DeleteMessage' | 'ChangeMessageVisibility' | 'GetQueueAttributes'

export function openSqsQueue(
  location: QueueLocation,
  access: SqsAccess,
  context: SourceContext,
  options: SourceAccess,
): MessageQueue {
  const { url: QueueUrl, endpoint, host, name } = location
  const { credentials, field, region } = access
  const requestHandler = awsRequestHandler(options, context, ({ headers }) =>
    headers['x-amz-target']?.endsWith('.ReceiveMessage') ? 'messages' : 'json',
  )
  const client = new SQSClient({
    ...awsClientDefaults,
    region,
    endpoint,
    credentials,
    requestHandler,
    // One corrupt message must not fail the batch, and MD5 is not available everywhere.
    md5: false,
  })

  const attempt = async <Output>(action: Action, ask: () => Promise<Output>): Promise<Output> => {
    try {
      return await ask()
    } catch (error) {
      throw awsFailure(error, {
        step: 'describe',
        service: 'SQS',
        endpoint: host,
        resource: `the queue "${name}"`,
        action: `sqs:${action}`,
        fields: { endpoint: 'queueUrl', credentials: field, resource: 'queueUrl' },
      })
    }
  }

  const attributes = async (abortSignal: AbortSignal): Promise<number> =>
    attempt('GetQueueAttributes', async () => {
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] })
      const { Attributes } = await client.send(command, { abortSignal })
      const count = Number(Attributes?.ApproximateNumberOfMessages ?? Number.NaN)
      // The client parses any successful answer as a queue without attributes.
      if (!Number.isSafeInteger(count)) throw new Error('not a queue')
      return count
    })

  return {
    async receive({ waitMs, holdMs }, abortSignal) {
      const command = new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: maxMessages,
        WaitTimeSeconds: secondsOf(waitMs, maxWaitSeconds),
        VisibilityTimeout: secondsOf(holdMs, maxHoldSeconds),
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
      })
      const { Messages = [] } = await attempt('ReceiveMessage', () => client.send(command, { abortSignal }))
      // A server must not return more than requested.
      return Messages.slice(0, maxMessages).flatMap(
        ({ MessageId: id, Body: text = '', ReceiptHandle: receipt, Attributes }) => {
          if (!id || !receipt) return []
          return [{ id, text, receipt, receivedCount: Number(Attributes?.ApproximateReceiveCount) || 1 }]
        },
      )
    },

    async extend(messages, holdMs, abortSignal) {
      const VisibilityTimeout = secondsOf(holdMs, maxHoldSeconds)
      for (const some of tensOf(messages)) {
        const Entries = entriesOf(some).map((entry) => ({ ...entry, VisibilityTimeout }))
        const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries })
        await attempt('ChangeMessageVisibility', () => client.send(command, { abortSignal }))
      }
    },

    async remove(messages, abortSignal) {
      for (const some of tensOf(messages)) {
        const command = new DeleteMessageBatchCommand({ QueueUrl, Entries: entriesOf(some) })
        await attempt('DeleteMessage', () => client.send(command, { abortSignal }))
      }
    },

    count: attributes,
    countsHeld: false,

    async describe(signal) {
      await attributes(signal)
    },

    close: () => requestHandler.destroy(),
  }
}

function tensOf(messages: MessageHandle[]): MessageHandle[][] {
  return Array.from({ length: Math.ceil(messages.length / maxMessages) }, (_, index) =>
    messages.slice(index * maxMessages, (index + 1) * maxMessages),
  )
}

function entriesOf(messages: MessageHandle[]): { Id: string; ReceiptHandle: string }[] {
  return messages.map(({ receipt }, index) => ({ Id: String(index), ReceiptHandle: receipt }))
}
