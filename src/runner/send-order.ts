// Permits to send rows to the engine: N at a time, in the order of the requests. A sender that waits can prepare in the engine what
// its rows need.

export interface SendPermit {
  /** Resolves when the holder may send. Rejects with the reason of the signal. */
  begin(signal: AbortSignal): Promise<void>
  /** Permits the next sender. */
  end(): void
}

export interface SendOrder {
  take(): SendPermit
}

interface Taken {
  begun: Promise<void>
  begin(): void
}

export function makeSendOrder(count: number): SendOrder {
  const taken: Taken[] = []
  const beginFirst = (): void => {
    for (const { begin } of taken.slice(0, count)) begin()
  }
  return {
    take() {
      const { promise, resolve } = Promise.withResolvers<void>()
      const own: Taken = { begun: promise, begin: resolve }
      taken.push(own)
      beginFirst()
      return {
        async begin(signal) {
          signal.throwIfAborted()
          const { promise: given, reject: giveUp } = Promise.withResolvers<never>()
          const abort = (): void => giveUp(signal.reason)
          signal.addEventListener('abort', abort, { once: true })
          await Promise.race([own.begun, given]).finally(() => signal.removeEventListener('abort', abort))
        },
        end() {
          const at = taken.indexOf(own)
          if (at >= 0) taken.splice(at, 1)
          beginFirst()
        },
      }
    },
  }
}
