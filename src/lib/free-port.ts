// Finds loopback ports that nothing listens on, below the range of ephemeral ports.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(15_000, 32_000)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

export async function findFreePort(): Promise<number> {
  const [port] = await findFreePorts(1)
  return port!
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening')
    probe.close()
    await once(probe, 'close')
    return true
  } catch {
    return false
  }
}
