// Serves the console: its built files, and one HTML document for the URL of every page. From a checkout the console is built
// when its sources have changed; an installed package contains the build.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuseOtherMethods, serveNothingAt } from './methods.ts'

export interface ConsoleFiles {
  folder: string
  /** Resolves when the folder holds the build of the current sources; rejects when the build fails. */
  build?(): Promise<void>
}

const contentTypes: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}
/** Longer than checking whether a build is needed takes. */
const buildWaitMs = 1_000
const assetName = /^[\w-]+(?:\.[\w-]+)*\.(js|css|svg)$/

export function serveConsole(server: FastifyInstance, { folder, build }: ConsoleFiles): void {
  let built: Promise<'built' | 'failed'> | undefined
  /** Undefined while the build runs. */
  const outcome = async (): Promise<'built' | 'failed' | undefined> => {
    built ??= build
      ? build().then(
          () => 'built',
          () => 'failed',
        )
      : Promise.resolve('built')
    const result = await Promise.race([built, sleep(buildWaitMs, undefined, { ref: false })])
    // The next request tries again: the cause may have been fixed.
    if (result === 'failed') built = undefined
    return result
  }

  const document = async (reply: FastifyReply): Promise<FastifyReply> => {
    const state = await outcome()
    if (state === undefined) {
      const text = 'This takes some seconds, and only after an update. The page reloads automatically.'
      const waiting = reply.code(503).header('retry-after', '2').header('refresh', '2')
      return sendPage(waiting, (nonce) => messagePage('The console is being built', text, nonce, reloading), true)
    }
    const page =
      state === 'built' ? await readFile(join(folder, 'index.html'), 'utf8').catch(() => undefined) : undefined
    if (page === undefined) {
      const advice = 'Run "npm run build" where Penstock is installed; its output shows what is missing.'
      return sendPage(reply.code(503), (nonce) => messagePage('The console could not be built', advice, nonce))
    }
    return sendPage(reply, (nonce) => page.replace('{{nonce}}', nonce))
  }

  /** `name` is unchecked input; only valid asset names reach the disk. */
  const asset = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parent: 'assets' | '.',
    name: string,
  ): Promise<FastifyReply> => {
    const type = contentTypes[assetName.exec(name)?.[1] ?? '']
    const encoding = /\bbr\b/.test(String(request.headers['accept-encoding'])) ? 'br' : 'gzip'
    const accepted = encoding === 'br' || /\bgzip\b/.test(String(request.headers['accept-encoding']))
    const file = join(folder, parent, name) + (accepted ? `.${encoding === 'br' ? 'br' : 'gz'}` : '')
    const bytes = type ? await readFile(file).catch(() => undefined) : undefined
    if (!bytes) return reply.callNotFound() as unknown as FastifyReply
    if (accepted) reply.header('content-encoding', encoding)
    // Asset names contain a hash of their content.
    const lasting = parent === 'assets' ? 'public, max-age=31536000, immutable' : 'public, max-age=300'
    return reply
      .header('content-type', type)
      .header('cache-control', lasting)
      .header('vary', 'accept-encoding')
      .header('x-content-type-options', 'nosniff')
      .send(bytes)
  }

  const route = (
    url: string,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void => {
    server.route({ method: ['GET', 'HEAD'], url, handler })
    refuseOtherMethods(server, url, ['GET', 'HEAD'])
  }
  const nameOf = (request: FastifyRequest): string => (request.params as { name: string }).name
  route('/console', (_, reply) => document(reply))
  serveNothingAt(server, '/console/api/*')
  route('/console/*', (_, reply) => document(reply))
  route('/console/assets/:name', (request, reply) => asset(request, reply, 'assets', nameOf(request)))
  for (const name of ['color-scheme.js', 'penstock.svg']) {
    route(`/console/${name}`, (request, reply) => asset(request, reply, '.', name))
  }
}

/** Browsers ignore the header `Refresh` for a URL with a fragment, such as that of a sign-in link. */
const reloading = 'setTimeout(() => location.reload(), 2000)'

/**
 * The content security policy allows scripts from this origin only. The nonce allows the inline script of the waiting page, and
 * the style elements that components add.
 */
function sendPage(reply: FastifyReply, page: (nonce: string) => string, hasScript = false): FastifyReply {
  const nonce = randomBytes(16).toString('base64url')
  const scripts = hasScript ? `'nonce-${nonce}'` : `'self'`
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .header('permissions-policy', 'camera=(), geolocation=(), microphone=()')
    .header(
      'content-security-policy',
      `default-src 'none'; script-src ${scripts}; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; ` +
        `base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    )
    .send(page(nonce))
}

function messagePage(title: string, text: string, nonce: string, script?: string): string {
  const style =
    'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}'
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<link rel="icon" href="/console/penstock.svg"><title>${title} · Penstock</title><style nonce="${nonce}">${style}</style></head>` +
    `<body><main><h1>${title}</h1><p>${text}</p></main>` +
    `${script === undefined ? '' : `<script nonce="${nonce}">${script}</script>`}</body></html>`
  )
}
