#!/usr/bin/env node
// `node bin/node24.js <node arguments>`: runs Node 24 or newer with these arguments. All npm scripts use it.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const REQUIRED_MAJOR = 24
// The first version with argon2.
const REQUIRED_MINOR = 7

const parentCheckMs = 500

/** The IPC channel to the child closes when this process dies, even by SIGKILL. */
export function runOnNode24(nodeArguments, { stopsWithParent = false } = {}) {
  const child = spawn(findNode(), nodeArguments, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  if (stopsWithParent) onParentDeath(() => child.kill('SIGTERM'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`Node could not be started: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    } else process.exit(code ?? 1)
  })
}

/** npm forwards SIGTERM but not SIGHUP, and SIGKILL cannot be forwarded. A changed parent id shows that the parent died. */
function onParentDeath(stop) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, parentCheckMs)
  timer.unref()
}

function findNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > REQUIRED_MAJOR || (major === REQUIRED_MAJOR && minor >= REQUIRED_MINOR)) return process.execPath
  const packageName = `node-${process.platform}-${process.arch}`
  try {
    return createRequire(import.meta.url).resolve(`${packageName}/bin/node`)
  } catch {
    console.error(
      `Penstock needs Node ${REQUIRED_MAJOR}.${REQUIRED_MINOR} or newer; this is ${process.version} and npm has not installed ${packageName}. ` +
        `Run "npm ci" without --omit=optional, or install Node ${REQUIRED_MAJOR}.`,
    )
    process.exit(1)
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) runOnNode24(process.argv.slice(2))
