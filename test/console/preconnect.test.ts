// Chromium opens a connection ahead of need and uses it for the next page. What a server says there before it is asked becomes that page.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { it } from 'node:test'
import { chromium } from 'playwright-core'
import { openTestApp } from '../harness.ts'
import { chromiumFile, makeFolder } from './browser.ts'

it('a page comes over a connection that was opened long before it', { timeout: 60_000 }, async (t) => {
  const app = await openTestApp('sqlite')
  t.after(() => app.close())
  const url = await app.app.listen()
  const { server } = app.app.server
  server.headersTimeout = 100
  const otherSite = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end(`<!doctype html><link rel="preconnect" href="${url}">`)
  })
  t.after(() => otherSite.close())
  await once(otherSite.listen(0, '127.0.0.1'), 'listening')
  // Chromium opens connections ahead of need only for a profile that is kept, and with its background networking.
  const profile = makeFolder()
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumFile,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run'],
    ignoreDefaultArgs: ['--disable-background-networking'],
  })
  t.after(async () => {
    await browser.close()
    rmSync(profile, { recursive: true, force: true })
  })
  const page = await browser.newPage()

  const preconnected = once(server, 'connection') as Promise<[Socket]>
  await page.goto(`http://127.0.0.1:${(otherSite.address() as AddressInfo).port}/`)
  const [socket] = await preconnected
  assert.equal(socket.bytesRead, 0)
  // The server gives up on it.
  await Promise.race([once(socket, 'finish'), once(socket, 'close')])
  const response = await page.goto(`${url}/docs`)
  assert.equal(response?.status(), 200)
  assert.match(await page.title(), /Penstock/)
})
