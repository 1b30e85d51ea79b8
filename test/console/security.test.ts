// S10: another site cannot do anything with the session of a signed-in person, and stored texts are never executed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import {
  callApi,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'
import { everyPage } from './pages.ts'

interface Attempt {
  method?: string
  mode: 'cors' | 'no-cors'
  body?: string
  headers?: Record<string, string>
}

describe('S10 the console under attack', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let attacker: Server

  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    await signInByLink(person.page, penstock)
    attacker = createServer((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<!doctype html><title>Another site</title><p>Nothing to see here.</p>')
    })
    attacker.listen(0, '127.0.0.1')
    await once(attacker, 'listening')
  })
  after(async () => {
    await browser?.close()
    attacker?.close()
    await penstock?.stop()
  })

  /** The whole store over the API, without values that change on their own. */
  async function everything(): Promise<string> {
    const { sample } = penstock
    const parts: unknown[] = []
    for (const path of ['', '/members', '/invitations', '/services', `/services/${sample.SERVICE_ID}/pipes`, '/keys']) {
      parts.push((await callApi(penstock, 'GET', path)).result)
    }
    parts.push(((await callApi(penstock, 'GET', '/activities?limit=1000')).result as unknown[]).length)
    return JSON.stringify(parts, (name, value) => (name === 'usedAt' || name === 'state' ? undefined : value))
  }

  it('the cookie is HttpOnly, SameSite and expires with the session', async () => {
    const cookies = (await person.context.cookies()).filter(({ name }) => name === 'penstock-session')
    assert.equal(cookies.length, 1)
    const { httpOnly, sameSite, path, expires } = cookies[0]!
    assert.deepEqual({ httpOnly, sameSite, path }, { httpOnly: true, sameSite: 'Strict', path: '/' })
    assert.ok(expires > 0 && expires * 1000 < Date.now() + 8 * 86_400_000)
    assert.equal(await person.page.evaluate('document.cookie'), '')
  })

  it('pages allow only scripts of this origin, no framing and no base', async () => {
    const response = await person.page.goto(`${penstock.url}/console/sign-in`)
    const policy = response!.headers()['content-security-policy']!
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /script-src 'self';/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.match(policy, /base-uri 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    const nonce = /'nonce-([\w-]+)'/.exec(policy)![1]
    const again = await person.page.goto(`${penstock.url}/console/sign-in`)
    assert.ok(!again!.headers()['content-security-policy']!.includes(nonce!))
    // The browser refuses inline scripts and handlers.
    await person.page.evaluate(`{
      const script = document.createElement('script'); script.textContent = 'window.ranInline = true'; document.body.append(script)
      const image = document.createElement('div'); image.innerHTML = '<img src="x:" onerror="window.ranInline = true">'; document.body.append(image)
    }`)
    await person.page.waitForTimeout(200)
    assert.equal(await person.page.evaluate('window.ranInline'), undefined)
    person.complaints()
  })

  // The same machine with another port is another origin but the same site, so cookies are sent; `localhost` is another site.
  for (const host of ['127.0.0.1', 'localhost']) {
    it(`a page of ${host} with another port changes nothing and reads nothing`, { timeout: 300_000 }, async () => {
      const { sample, url } = penstock
      const before = await everything()
      const page = await person.context.newPage()
      await page.goto(`http://${host}:${(attacker.address() as AddressInfo).port}/`)
      const organization = `${url}/v1/organizations/${sample.ORGANIZATION_ID}`
      const member = `${organization}/members/${sample.USER_ID}`
      const pipe = `${organization}/services/${sample.SERVICE_ID}/pipes/${sample.KAFKA_PIPE_ID}`
      const attempts: [string, Attempt][] = []
      const bodies = {
        role: JSON.stringify({ role: 'admin' }),
        key: JSON.stringify({ name: 'stolen', roles: ['admin'] }),
      }
      for (const mode of ['cors', 'no-cors'] as const) {
        for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
          attempts.push(
            [`${organization}/keys`, { method: 'POST', mode, body: bodies.key, headers: { 'content-type': type } }],
            [member, { method: 'PATCH', mode, body: bodies.role, headers: { 'content-type': type } }],
          )
        }
        attempts.push([pipe, { method: 'DELETE', mode }], [organization, { mode }], [`${organization}/keys`, { mode }])
        attempts.push(
          [`${url}/console/api/session`, { mode }],
          [`${url}/console/api/session`, { method: 'DELETE', mode }],
        )
        attempts.push([`${url}/console/api/sessions`, { method: 'DELETE', mode }])
        attempts.push([
          `${url}/console/api/account/password`,
          { method: 'POST', mode, body: JSON.stringify({ newPassword: 'correct horse battery' }) },
        ])
      }
      // Answers of the server, which the page cannot read.
      const answers: { method: string; status: number }[] = []
      page.on('response', (response) => {
        if (response.url().startsWith(url)) {
          answers.push({ method: response.request().method(), status: response.status() })
        }
      })
      const read = await page.evaluate(async (list) => {
        const texts: string[] = []
        for (const [address, options] of list) {
          try {
            texts.push(await (await fetch(address, { ...options, credentials: 'include' })).text())
          } catch {}
        }
        return texts.filter((text) => text !== '')
      }, attempts)
      assert.deepEqual(read, [])
      // The page may see the end of a request before the event arrives here.
      for (const deadline = Date.now() + 10_000; answers.length < 7 && Date.now() < deadline; ) {
        await page.waitForTimeout(50)
      }
      // Browsers send GET and POST without a preflight request; other methods did not reach the server. With the cookie a GET
      // from our own origin would get 200.
      const isSameSite = host === '127.0.0.1'
      const got = (method: string) => answers.filter((each) => each.method === method).map(({ status }) => status)
      assert.deepEqual(got('GET'), isSameSite ? [403, 403, 403] : [401, 401, 403])
      assert.deepEqual(got('POST'), isSameSite ? [403, 403, 403, 403] : [401, 401, 401, 403])
      assert.equal(answers.length, 7)

      // A form is sent without a preflight request.
      for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
        for (const action of [
          `${organization}/keys`,
          `${url}/console/api/session/link`,
          `${url}/console/api/account/password`,
        ]) {
          const form = await person.context.newPage()
          await form.goto(`http://${host}:${(attacker.address() as AddressInfo).port}/`)
          await form.setContent(
            `<form method="post" action="${action}" enctype="${enctype}"><input name='{"name":"stolen","roles":["admin"],"x":"' value='"}'></form>`,
          )
          const answered = form.waitForResponse(action)
          await form.evaluate('document.forms[0].submit()')
          const response = await answered
          const carriesCookie = 'cookie' in (await response.request().allHeaders())
          assert.equal(carriesCookie, isSameSite, 'whether the session goes along')
          if (!isSameSite && action === `${organization}/keys`) assert.equal(response.status(), 401)
          else {
            // Not because of the media type or the missing token: the origin is checked first.
            assert.equal(response.status(), 403)
            assert.match(await response.text(), /headers Origin and Sec-Fetch-Site are not those of this Penstock/)
          }
          await form.close()
        }
      }
      // Clickjacking needs a frame.
      await page.setContent(`<iframe src="${url}/console/sign-in"></iframe>`)
      await page.waitForTimeout(300)
      const framed = page.frames().find((frame) => frame !== page.mainFrame())
      assert.equal(await framed!.evaluate('document.getElementById("root")').catch(() => null), null)
      await page.close()

      assert.equal(await everything(), before)
      // The person is still signed in.
      await person.page.goto(`${url}/console`)
      await person.page.waitForURL('**/console/o/*')
    })
  }

  it('texts that look like scripts are shown as text on every page', { timeout: 600_000 }, async () => {
    const { sample } = penstock
    const texts = [
      `<img src=x onerror="window.ran=1">`,
      `"><script>window.ran=1</script>`,
      `javascript:window.ran=1//`,
      `'-window.ran=1-'`,
      `{{constructor.constructor('window.ran=1')()}}`,
      `<svg/onload=window.ran=1>`,
    ]
    const service = `/services/${sample.SERVICE_ID}`
    for (const [index, text] of texts.entries()) {
      const name = text.slice(0, 50)
      const made = [
        await callApi(penstock, 'POST', '/keys', { name, roles: ['developer'] }),
        await callApi(penstock, 'POST', `${service}/privateEndpoint`, {
          id: `vpce-0000000${index}`,
          description: text,
        }),
      ]
      assert.deepEqual(
        made.map(({ status }) => status),
        [200, 200],
      )
    }
    for (const [index, id] of [sample.KAFKA_PIPE_ID, sample.POSTGRES_PIPE_ID, sample.KINESIS_PIPE_ID].entries()) {
      assert.equal((await callApi(penstock, 'PATCH', `${service}/pipes/${id}`, { name: texts[index] })).status, 200)
    }
    assert.equal((await callApi(penstock, 'PATCH', service, { name: texts[0] })).status, 200)
    assert.equal((await callApi(penstock, 'PATCH', '', { name: texts[1] })).status, 200)

    person.complaints()
    for (const path of await everyPage(penstock)) {
      await person.page.goto(`${penstock.url}/console${path}`)
      await person.page.waitForLoadState('networkidle')
      assert.equal(await person.page.evaluate('window.ran'), undefined, path)
      // No link that executes a text.
      assert.deepEqual(
        await person.page.evaluate(
          `[...document.querySelectorAll('[href^="javascript:" i], script:not([src])')].length`,
        ),
        0,
        path,
      )
    }
    assert.deepEqual(person.complaints(), [])
    await person.page.goto(`${penstock.url}/console/o/${sample.ORGANIZATION_ID}/keys`)
    await person.page.getByText(texts[0]!).first().waitFor()
  })
})
