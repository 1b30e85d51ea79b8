// Servers as separate programs. A server ends, and its folder is removed, when it is stopped or when the process that started it
// has ended for any reason: a shell in between waits for its standard input to close.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Account {
  uid: number
  gid: number
}

export interface ServerProgram {
  name: string
  command: string[]
  /** From makeServerFolder(); removed when the server has ended. */
  folder: string
  environment?: Record<string, string>
  account?: Account | undefined
  /** Default: KILL, because the data is discarded. */
  endSignal?: 'KILL' | 'QUIT'
  /** Rejects, or returns false, while the server is not ready. */
  isReady(): Promise<boolean>
}

export interface ServerProcess {
  stop(): Promise<void>
}

/** Shorter than the timeout of test hooks, so that the log of the server is printed. */
const startTimeoutMs = 100_000

// The waiting shell removes the folder, after the last write of the server. The process id cannot be reused before the shell has
// waited, so no other process is killed.
const guardScript = `
  folder=$1 signal=$2
  shift 2
  exec 3<&0
  "$@" < /dev/null > "$folder/server.log" 2>&1 3<&- &
  server=$!
  {
    read -r _
    kill -s "$signal" "$server"
    for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; done
    kill -s KILL "$server"
  } <&3 2> /dev/null &
  ender=$!
  wait "$server" 2> /dev/null
  kill "$ender"
  tail -c 4000 "$folder/server.log" >&2
  rm -rf "$folder"`

export async function makeServerFolder(name: string, account?: Account): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `penstock-real-${name}-`))
  if (account) await chown(folder, account.uid, account.gid)
  return folder
}

/** Resolves when the server is ready. */
export async function startServer(program: ServerProgram): Promise<ServerProcess> {
  const { name, command, folder, account, environment, endSignal = 'KILL' } = program
  const guard = spawn('/bin/sh', ['-c', guardScript, 'sh', folder, endSignal, ...command], {
    ...account,
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8', TZ: 'UTC', ...environment },
    // Otherwise Ctrl-C in a terminal would end the server before the tests that use it.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await once(guard, 'spawn')
  // The pipe breaks when the server ends on its own; stop() ignores that.
  guard.stdin.on('error', () => {})
  let lastWords = ''
  guard.stderr.setEncoding('utf8').on('data', (words) => {
    lastWords += words
  })
  const closed = once(guard, 'close')

  const stop = async (): Promise<void> => {
    guard.stdin.end()
    await closed
  }
  const deadlineMs = Date.now() + startTimeoutMs
  while (guard.exitCode === null && guard.signalCode === null && Date.now() < deadlineMs) {
    if (await program.isReady().catch(() => false)) return { stop }
    await sleep(50)
  }
  await stop()
  throw new Error(`${name} did not start; its last words:\n${lastWords}`)
}

export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
