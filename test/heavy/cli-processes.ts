// Runs Penstock commands as processes.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'

export const environment = (settings: Record<string, string>) => ({
  PATH: process.env.PATH,
  ...ownEnvironment,
  PENSTOCK_PORT: '0',
  // Without the embedded engine: test/heavy/try.test.ts tests it.
  PENSTOCK_TRY_ENGINE: 'http://127.0.0.1:8123',
  ...settings,
})

export function run(
  args: string[],
  settings: Record<string, string>,
): Promise<{ code: number; printed: string; error: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [mainFile, ...args],
      { env: environment(settings), timeout: 60_000 },
      (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? -1) : 0, printed: stdout, error: stderr }),
    )
  })
}

export async function start(
  command: string,
  settings: Record<string, string>,
): Promise<{ child: ChildProcess; printed: string }> {
  const child = spawn(process.execPath, [mainFile, command], {
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk) => {
      printed += chunk
    })
  }
  while (!/http:\/\/127\.0\.0\.1:\d+/.test(printed) && child.exitCode === null)
    await new Promise((r) => setTimeout(r, 20))
  return { child, printed }
}

export async function end(child: ChildProcess): Promise<number | null> {
  child.kill('SIGTERM')
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

export async function refuses(args: string[], settings: Record<string, string>, sentence: RegExp): Promise<void> {
  const { code, printed, error } = await run(args, settings)
  assert.equal(code, 1, `${printed}${error}`)
  assert.match(error.trim(), sentence)
  assert.equal(error.trim().split('\n').length, 1, `more than one sentence: ${error}`)
  assert.doesNotMatch(error, /\bat .*:\d+:\d+/, 'a stack trace')
}

export const opening =
  /^Open the console: (http:\/\/127\.0\.0\.1:\d+)\/console\/sign-in#(lnk_\w{43}) {3}\(works once\)$/m

/** Signs in with the token of a link, as the console does; returns the session. */
export async function signIn(url: string, token: string): Promise<{ user: { email: string } }> {
  const signedIn = await fetch(`${url}/console/api/session/link`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  if (!signedIn.ok) throw new Error(String(signedIn.status))
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!
  const session = await fetch(`${url}/console/api/session`, { headers: { cookie } })
  return ((await session.json()) as { result: { user: { email: string } } }).result
}
