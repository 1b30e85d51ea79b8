// Stream consumers, as Kinesis registers them for enhanced fan-out.

export interface Consumer {
  name: string
  arn: string
  streamName: string
  activeAtMs: number
}

export interface ConsumerRegistry {
  /** By ARN. */
  consumers: Map<string, Consumer>
  answer(operation: string, body: Record<string, string>, activeAfterMs: number): { status: number; body: object }
}

export function makeConsumerRegistry(): ConsumerRegistry {
  const consumers = new Map<string, Consumer>()
  const refuse = (__type: string) => ({ status: 400, body: { __type, message: 'as the test wants it' } })
  const describe = ({ name, arn, activeAtMs }: Consumer) => ({
    ConsumerName: name,
    ConsumerARN: arn,
    ConsumerStatus: performance.now() >= activeAtMs ? 'ACTIVE' : 'CREATING',
    ConsumerCreationTimestamp: 1_700_000_000,
  })
  return {
    consumers,
    answer(operation, { StreamARN = '', ConsumerName = '' }, activeAfterMs) {
      const known = consumers.get(`${StreamARN}/consumer/${ConsumerName}`)
      if (operation === 'RegisterStreamConsumer') {
        if (known) return refuse('ResourceInUseException')
        const streamName = StreamARN.split('/').at(-1) ?? ''
        const arn = `${StreamARN}/consumer/${ConsumerName}`
        const consumer = { name: ConsumerName, arn, streamName, activeAtMs: performance.now() + activeAfterMs }
        consumers.set(arn, consumer)
        return { status: 200, body: { Consumer: describe(consumer) } }
      }
      if (!known) return refuse('ResourceNotFoundException')
      if (operation === 'DeregisterStreamConsumer') {
        consumers.delete(known.arn)
        return { status: 200, body: {} }
      }
      return { status: 200, body: { ConsumerDescription: { ...describe(known), StreamARN } } }
    },
  }
}
