// A queue of Azure's Queue Storage, or of something that speaks as it does. It does not wait for messages: whoever waits asks again.
import { setTimeout as wait } from 'node:timers/promises'
import {
  AnonymousCredential,
  newPipeline,
  QueueClient,
  StorageRetryPolicyType,
  StorageSharedKeyCredential,
} from '@azure/storage-queue'
import { egressAgent } from '../../lib/egress-http.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import type { SourceContext, SourceAccess } from '../source.ts'
import type { AzureAccount } from './azure-account.ts'
import { azureFailure, readAzureError } from './azure-failure.ts'
import { azureHttpClient } from './azure-http.ts'
import { maxMessages, textOf } from './azure-messages.ts'
import { type MessageHandle, type MessageQueue, type QueueMessage, secondsOf } from './message-queue.ts'
import type { QueueLocation } from './queue-location.ts'

const connectMs = 10_000
/** How often an empty queue is asked. */
const askEveryMs = 1_000
/** Seven days. */
const maxHoldSeconds = 604_800
/** Messages are extended and removed one by one, so many at once. */
const maxAtOnce = 8

export function openAzureQueue(
  place: QueueLocation,
  account: AzureAccount,
  context: SourceContext,
  surroundings: SourceAccess,
): MessageQueue {
  const closing = new AbortController()
  const agent = egressAgent(surroundings.egress, place.endpoint.startsWith('https:') ? 'https' : 'http', {
    timeoutMs: connectMs,
    signal: AbortSignal.any([surroundings.signal, closing.signal]),
    tls: trustWith(context.caCertificates),
  })
  const client = makeClient(place, account, agent)

  const attempt = async <Result>(action: string, signal: AbortSignal, ask: () => Promise<Result>): Promise<Result> => {
    try {
      return await ask()
    } catch (error) {
      throw azureFailure(error, { step: 'describe', about: { kind: 'queue', place, action }, signal })
    }
  }

  /** Those that somebody else has received meanwhile, or that are gone, are not ours. */
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
            if (!notOurs.includes(readAzureError(error).name)) throw error
          }),
        )
      }
    }
    await Promise.all(Array.from({ length: maxAtOnce }, work))
  }

  const count = async (abortSignal: AbortSignal): Promise<number> =>
    attempt('read the properties of', abortSignal, async () => {
      const { approximateMessagesCount } = await client.getProperties({ abortSignal })
      // The client takes any answer that is no error for a queue.
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

const notOurs = ['MessageNotFound', 'PopReceiptMismatch']

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
