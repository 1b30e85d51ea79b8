// Chromium opens connections ahead of need and uses them for the next page. Bytes that a server sends on such a connection before
// a request become that page.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { it } from 'node:test'
import { chromium } from 'playwright-core'
import { openTestApp } from '../harness/test-app.ts'
import { chromiumFile, makeFolder } from './browser.ts'

it('a page loads over a connection that was opened long before', { timeout: 60_000 }, async (t) => {
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
  // Chromium does so only with a persistent profile and background networking.
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
  // The server closes the connection.
  await Promise.race([once(socket, 'finish'), once(socket, 'close')])
  const response = await page.goto(`${url}/docs`)
  assert.equal(response?.status(), 200)
  assert.match(await page.title(), /Penstock/)
})
