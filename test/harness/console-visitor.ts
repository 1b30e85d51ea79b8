// Somebody with a browser at the console: keeps cookies, and sends what the pages of the console send along.
import { openSession } from '../../src/sessions/open-session.ts'
import type { TestApp, TestResponse } from './test-app.ts'

export const origin = 'https://penstock.example.com'
export const sessionCookie = '__Host-penstock-session'

let visitors = 0

export class Visitor {
  readonly #app: TestApp
  readonly cookies = new Map<string, string>()
  /** Every visitor has an address of their own, and so a throttle of their own. */
  readonly address = `10.0.${++visitors >> 8}.${visitors & 255}`
  #csrfToken: string | undefined

  constructor(app: TestApp) {
    this.#app = app
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await this.#app.request(method, path, {
      key: null,
      address: this.address,
      ...(body === undefined ? {} : { body }),
      headers: {
        ...(method === 'GET' ? {} : { origin }),
        ...(cookie === '' ? {} : { cookie }),
        ...(this.#csrfToken === undefined ? {} : { 'x-csrf-token': this.#csrfToken }),
        ...headers,
      },
    })
    for (const header of [response.headers['set-cookie'] ?? []].flat() as string[]) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(header)!
      if (value === '') this.cookies.delete(name!)
      else this.cookies.set(name!, value!)
    }
    return response
  }

  /** As the console does after it was loaded and after every sign-in. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  async session(): Promise<any> {
    const { result } = (await this.request('GET', '/console/api/session')).body
    this.#csrfToken = result.csrfToken
    return result
  }

  /** With a session that was put into the database. */
  async signInAs(userId: string): Promise<void> {
    const { sql, app } = this.#app
    const now = new Date().toISOString()
    const from = { address: this.address, userAgent: 'test', signedIn: undefined }
    this.cookies.set(sessionCookie, await openSession({ sql, vault: app.vault, now, ...from }, userId))
    await this.session()
  }
}
