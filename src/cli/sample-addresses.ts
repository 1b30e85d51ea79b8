// Updates the addresses of the sample's service and pipe when the embedded engine or the sample shop moves to another port.
// Addresses that the user has changed stay.
import { existsSync, readFileSync } from 'node:fs'
import type { App } from '../app.ts'
import type { SampleShop } from '../installation/sample.ts'
import { writePrivateFile } from '../lib/private-file.ts'
import type { TryEngine } from './try-engine.ts'

interface ShownAddress {
  host: string
  port: number
}

const ownHost = '127.0.0.1'

/** The values in the sample file of the try-it mode; empty without one. */
export function readSampleFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {}
  return Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
}

export function replaceInSampleFile(file: string, name: string, value: string): void {
  const lines = readFileSync(file, 'utf8').split('\n')
  const replaced = lines.map((line) => (line.startsWith(`${name}=`) ? `${name}=${value}` : line))
  writePrivateFile(file, replaced.join('\n'), 'replace')
}

export class SampleAddresses {
  readonly #app: App
  readonly #file: string

  /** `file` has the sample's ids and keys. */
  constructor(app: App, file: string) {
    this.#app = app
    this.#file = file
  }

  async moveEngine({ access, urlToShow }: TryEngine): Promise<void> {
    const { ENGINE_URL: before } = readSampleFile(this.#file)
    if (before === undefined || before === urlToShow) return
    const service = (await this.#call('GET', '')) as { endpoints: ShownAddress[] } | undefined
    const endpoint = service?.endpoints[0]
    if (endpoint?.host === ownHost && endpoint.port === Number(new URL(before).port)) {
      await this.#call('PATCH', '', { endpoint: access })
    }
    replaceInSampleFile(this.#file, 'ENGINE_URL', urlToShow)
  }

  async moveShop({ port, database, username, password }: SampleShop): Promise<void> {
    const path = this.#shopPipe()
    const pipe = path && ((await this.#call('GET', path)) as { source: { postgres?: Shop } } | undefined)
    const source = pipe ? pipe.source.postgres : undefined
    if (!path || source?.host !== ownHost || source.database !== database || source.port === port) return
    await this.#call('PATCH', path, { source: { postgres: { port, credentials: { username, password } } } })
  }

  /** Stops the pipe when the sample shop is not available. */
  async stopShopPipe(): Promise<void> {
    const path = this.#shopPipe()
    if (path) await this.#call('PATCH', `${path}/state`, { command: 'stop' })
  }

  #shopPipe(): string | undefined {
    const { SHOP_PIPE_ID: id } = readSampleFile(this.#file)
    return id && `/pipes/${id}`
  }

  /** Undefined when the request fails: the service, the pipe or the key may have been deleted. */
  async #call(method: 'GET' | 'PATCH', path: string, body?: object): Promise<unknown> {
    const { ORGANIZATION_ID, SERVICE_ID, KEY_ID, KEY_SECRET } = readSampleFile(this.#file)
    const { statusCode, payload } = await this.#app.server.inject({
      method,
      url: `/v1/organizations/${ORGANIZATION_ID}/services/${SERVICE_ID}${path}`,
      headers: { authorization: `Basic ${Buffer.from(`${KEY_ID}:${KEY_SECRET}`).toString('base64')}` },
      ...(body === undefined ? {} : { payload: body }),
    })
    return statusCode === 200 ? JSON.parse(payload).result : undefined
  }
}

interface Shop extends ShownAddress {
  database: string
}
