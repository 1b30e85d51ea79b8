// A queue of Azure Queue Storage or of a compatible service. The service has no long polling, so an empty queue is polled.
import { setTimeout as wait } from 'node:timers/promises'
import {
  AnonymousCredential,
  newPipeline,
  QueueClient,
  StorageRetryPolicyType,
  StorageSharedKeyCredential,
} from '@azure/storage-queue'
import { egressAgent } from '../../lib/egress-agent.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import type { AzureAccount } from './azure-account.ts'
import { azureFailure, readAzureError } from './azure-failure.ts'
import { azureHttpClient } from './azure-http.ts'
import { maxMessages, textOf } from './azure-messages.ts'
import { type MessageHandle, type MessageQueue, type QueueMessage, secondsOf } from './message-queue.ts'
import type { QueueLocation } from './queue-location.ts'

const connectMs = 10_000
/** Poll interval of an empty queue. */
const askEveryMs = 1_000
/** Seven days. */
const maxHoldSeconds = 604_800
/** Concurrent requests: messages are extended and removed one by one. */
const maxAtOnce = 8

export function openAzureQueue(
  location: QueueLocation,
  account: AzureAccount,
  context: SourceContext,
  options: SourceAccess,
): MessageQueue {
  const closing = new AbortController()
  const agent = egressAgent(options.egress, location.endpoint.startsWith('https:') ? 'https' : 'http', {
    timeoutMs: connectMs,
    signal: AbortSignal.any([options.signal, closing.signal]),
    tls: trustWith(context.caCertificates),
  })
  const client = makeClient(location, account, agent)

  const attempt = async <Result>(action: string, signal: AbortSignal, ask: () => Promise<Result>): Promise<Result> => {
    try {
      return await ask()
    } catch (error) {
      throw azureFailure(error, { step: 'describe', target: { kind: 'queue', location, action }, signal })
    }
  }

  /** Ignores messages that another consumer has received or that were deleted. */
  const eachOf = async (
    messages: MessageHandle[],
    action: string,
    signal: AbortSignal,
    ask: (message: MessageHandle) => Promise<void>,
  ): Promise<void> => {
    const left = messages.values()
    const work = async (): Promise<void> => {
      for (const message of left) {
        await attempt(action, signal, () =>
          ask(message).catch((error: unknown) => {
            if (!lostMessageCodes.includes(readAzureError(error).name)) throw error
          }),
        )
      }
    }
    await Promise.all(Array.from({ length: maxAtOnce }, work))
  }

  const count = async (abortSignal: AbortSignal): Promise<number> =>
    attempt('read the properties of', abortSignal, async () => {
      const { approximateMessagesCount } = await client.getProperties({ abortSignal })
      // The client accepts any successful answer as that of a queue.
      if (approximateMessagesCount === undefined || Number.isNaN(approximateMessagesCount))
        throw new Error('not a queue')
      return approximateMessagesCount
    })

  const receive = (holdMs: number, abortSignal: AbortSignal): Promise<QueueMessage[]> =>
    attempt('take messages of', abortSignal, async () => {
      const { receivedMessageItems } = await client.receiveMessages({
        numberOfMessages: maxMessages,
        visibilityTimeout: secondsOf(holdMs, maxHoldSeconds),
        abortSignal,
      })
      return receivedMessageItems.flatMap(({ messageId: id, popReceipt: receipt, messageText, dequeueCount }) =>
        id && receipt
          ? [{ id, receipt, text: textOf(messageText ?? ''), receivedCount: Number(dequeueCount) || 1 }]
          : [],
      )
    })

  return {
    async receive({ waitMs, holdMs }, signal) {
      const endsAtMs = performance.now() + waitMs
      for (;;) {
        const messages = await receive(holdMs, signal)
        const leftMs = endsAtMs - performance.now()
        if (messages.length > 0 || leftMs <= 0) return messages
        await wait(Math.min(askEveryMs, leftMs), undefined, { signal })
      }
    },

    extend: (messages, holdMs, signal) =>
      eachOf(messages, 'update messages of', signal, async (message) => {
        const seconds = secondsOf(holdMs, maxHoldSeconds)
        const { popReceipt } = await client.updateMessage(message.id, message.receipt, undefined, seconds, {
          abortSignal: signal,
        })
        if (popReceipt) message.receipt = popReceipt
      }),

    remove: (messages, signal) =>
      eachOf(messages, 'delete messages of', signal, async ({ id, receipt }) => {
        await client.deleteMessage(id, receipt, { abortSignal: signal })
      }),

    count,
    countsHeld: true,

    async describe(signal) {
      await count(signal)
    },

    close() {
      closing.abort()
      agent.destroy()
    },
  }
}

const lostMessageCodes = ['MessageNotFound', 'PopReceiptMismatch']

function makeClient(
  { url, endpoint }: QueueLocation,
  { sharedKey, accessSignature }: AzureAccount,
  agent: ReturnType<typeof egressAgent>,
): QueueClient {
  const credential = sharedKey
    ? new StorageSharedKeyCredential(sharedKey.accountName, sharedKey.accountKey)
    : new AnonymousCredential()
  const pipeline = newPipeline(credential, {
    httpClient: azureHttpClient(agent, endpoint, 'queue'),
    retryOptions: { maxTries: 2, retryPolicyType: StorageRetryPolicyType.FIXED, retryDelayInMs: 200 },
  })
  return new QueueClient(accessSignature === undefined ? url : `${url}?${accessSignature}`, pipeline)
}
