// The Dockerfile: its content, and whether the result runs as another user on a read-only file system, within the system calls
// that deploy/penstock@.service allows, and with deploy/penstock. Needs root to make mounts read-only for one process.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAdmin } from '../../chaos/system/nginx-processes.ts'
import { findFreePort } from '../../src/lib/free-port.ts'
import {
  commandOf,
  copiesOf,
  doStage,
  environmentOf,
  listOf,
  project,
  readDockerfile,
  type Stage,
} from './container-tree.ts'
import { debianProgram } from './servers/installed.ts'
import { readTraces, readUnitLimits } from './system-calls.ts'

const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
  files: string[]
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  optionalDependencies: Record<string, string>
}
const [build, image] = readDockerfile() as [Stage, Stage]

describe('the Dockerfile', () => {
  it('has two stages with the Node version of package.json', () => {
    assert.equal(readDockerfile().length, 2)
    for (const version of Object.values(manifest.optionalDependencies)) {
      assert.deepEqual([build.base, image.base], Array(2).fill(`node:${version}-bookworm-slim`))
    }
  })

  it('runs as a numeric non-root user', () => {
    assert.deepEqual(listOf(build, 'USER'), [])
    assert.deepEqual(listOf(image, 'USER'), ['1000:1000'])
    const afterUser = image.instructions.slice(image.instructions.findIndex(({ keyword }) => keyword === 'USER'))
    assert.deepEqual(
      afterUser.filter(({ keyword }) => keyword === 'RUN' || keyword === 'COPY'),
      [],
    )
  })

  it('copies named files only, and uses the network only for npm ci', () => {
    const copied = [build, image].flatMap(copiesOf).filter(({ from }) => from === undefined)
    const known = [...manifest.files, 'package.json', 'package-lock.json', 'LICENSE', 'README.md', 'src', 'console']
    const configurations = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.client.json']
    for (const source of copied.flatMap(({ sources }) => sources)) {
      assert.ok([...known, ...configurations].includes(source), `${source} is no part of the package or the build`)
    }
    const shipped = copiesOf(image).map(({ sources, target }) => (target === './' ? sources : [target]))
    // An image needs no files for setting up machines.
    for (const file of manifest.files.filter((name) => name !== 'deploy'))
      assert.ok(shipped.flat().includes(file), `${file} is not in the image`)
    assert.deepEqual([...listOf(build, 'ADD'), ...listOf(image, 'ADD')], [])
    const commands = [build, image].flatMap((stage) => listOf(stage, 'RUN'))
    assert.doesNotMatch(commands.join('\n'), /curl|wget|apt|npm (?:install|i)\b/)
  })

  it('has a context without other files: .dockerignore excludes everything first', () => {
    const lines = readFileSync(join(project, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    assert.equal(lines[0], '*')
    const copied = [build, image].flatMap(copiesOf).filter(({ from }) => from === undefined)
    const admitted = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    assert.deepEqual(admitted.toSorted(), [...new Set(copied.flatMap(({ sources }) => sources))].toSorted())
  })
})

describe('the image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-container-'))
  const tree = join(folder, 'tree')
  const writable = join(folder, 'writable')
  // The node of a private checkout is not accessible to other users.
  const node = join(folder, 'node')
  const nobody = 65_534
  const traces = ['init', 'start'].map((name) => join(writable, 'traces', name))
  let port: number
  let running: ChildProcess | undefined

  before(
    async () => {
      assert.equal(process.getuid?.(), 0, 'run it as root: it makes the machine read-only for one process')
      const stageFolder = join(folder, 'build')
      doStage(build, stageFolder, {})
      doStage(image, tree, { [build.name]: stageFolder })
      rmSync(stageFolder, { recursive: true })
      copyFileSync(process.execPath, node)
      execFileSync('chmod', ['-R', 'a+rX,go-w', folder])
      for (const name of ['', 'volume', 'traces']) {
        mkdirSync(join(writable, name))
        chownSync(join(writable, name), nobody, nobody)
      }
      port = await findFreePort()
    },
    { timeout: 900_000 },
  )
  after(async () => {
    await end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  /** As in the image, but on loopback, and with other folders. */
  function environment(): Record<string, string> {
    return {
      ...environmentOf(image),
      PATH: process.env.PATH ?? '',
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_PORT: String(port),
      PENSTOCK_DATA: join(writable, 'volume', 'data'),
    }
  }

  /** Runs with one writable folder, and records all system calls. */
  function readOnly(trace: string, programArguments: string[]): string[] {
    const [, ...entry] = commandOf(image, 'ENTRYPOINT').map((word) => word.replace('/opt/penstock', tree))
    const script = `
      mount --bind "$1" "$1"
      while read -r _ _ _ _ place _; do
        case "$place" in
          /dev/shm) ;;
          "$1" | /proc* | /sys* | /dev*) continue ;;
        esac
        mount -o remount,ro,bind "$place" 2> /dev/null || true
      done < /proc/self/mountinfo
      ! touch ${folder}/tree/written 2> /dev/null || exit 99
      shift
      exec setpriv --reuid=${nobody} --regid=${nobody} --clear-groups --no-new-privs --inh-caps=-all "$@"`
    const strace = [debianProgram('strace', '/usr/bin/strace'), '-f', '-qq', '-o', join(writable, 'traces', trace)]
    const program = [...strace, node, ...entry, ...programArguments]
    return ['unshare', '--mount', '--propagation=private', 'sh', '-ec', script, 'sh', writable, ...program]
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    if (!running) return null
    const ended = once(running, 'exit')
    // strace runs until the traced process has ended; the group contains both.
    process.kill(-running.pid!, signal)
    running = undefined
    const [code] = (await ended) as [number | null]
    return code
  }

  const healthCheck = (): number | null => {
    const [, ...command] = commandOf(image, 'HEALTHCHECK')
    return spawnSync(process.execPath, command, { env: environment() }).status
  }

  it('has production dependencies only, and no sources', () => {
    const installed = new Set(
      readdirSync(join(tree, 'node_modules')).flatMap((name) =>
        name.startsWith('@') ? readdirSync(join(tree, 'node_modules', name)).map((part) => `${name}/${part}`) : [name],
      ),
    )
    for (const name of Object.keys(manifest.dependencies)) assert.ok(installed.has(name), `${name} is missing`)
    const unwanted = [...Object.keys(manifest.devDependencies), ...Object.keys(manifest.optionalDependencies)]
    assert.deepEqual(
      unwanted.filter((name) => installed.has(name) && !isDependencyOfAnother(name, tree)),
      [],
    )
    assert.deepEqual([existsSync(join(tree, 'src')), existsSync(join(tree, 'console'))], [false, false])
    assert.ok(existsSync(join(tree, 'dist', 'console', 'index.html')))
  })

  it('refuses to listen beyond loopback without TLS settings', () => {
    const entry = commandOf(image, 'ENTRYPOINT').slice(1)
    const settings = { ...environment(), PENSTOCK_HOST: environmentOf(image).PENSTOCK_HOST }
    const setUp = [...entry, 'init', '--organization', 'A', '--admin-name', 'B', '--admin-email', 'c@example.com']
    const own = { ...settings, PENSTOCK_DATA: join(folder, 'refused') }
    const run = (words: string[]) =>
      spawnSync(
        process.execPath,
        words.map((word) => word.replace('/opt/penstock', tree)),
        { env: own, encoding: 'utf8' },
      )
    assert.equal(run(setUp).status, 0)
    const { status, stderr } = run([...entry, ...commandOf(image, 'CMD')])
    assert.equal(status, 1)
    assert.match(stderr, /PENSTOCK_TLS_IN_FRONT=true/)
  })

  it('initializes, serves and stops as another user on a read-only file system', { timeout: 300_000 }, async () => {
    const names = ['--organization', 'A', '--admin-name', 'Ada', '--admin-email', 'ada@example.com']
    const [command, ...rest] = readOnly('init', ['init', ...names])
    const printed = execFileSync(command!, rest, { env: environment(), encoding: 'utf8' })
    const { organizationId, keyId, keySecret } = readAdmin(printed)
    assert.equal(healthCheck(), 1)

    const [startCommand, ...startRest] = readOnly('start', commandOf(image, 'CMD'))
    running = spawn(startCommand!, startRest, { env: environment(), stdio: 'ignore', detached: true })
    const deadlineMs = Date.now() + 180_000
    while (healthCheck() !== 0) assert.ok(Date.now() < deadlineMs, 'it did not get healthy')
    const organization = `http://127.0.0.1:${port}/v1/organizations/${organizationId}`
    const call = async <Result>(method: string, path: string, body?: object): Promise<Result> => {
      const answer = await fetch(`${organization}${path}`, {
        method,
        headers: {
          authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString('base64')}`,
          'content-type': 'application/json',
          connection: 'close',
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      return (JSON.parse(text) as { result: Result }).result
    }
    // Engine connections need the most system calls, because of DNS, addresses and TLS.
    for (const host of [ownAddress(), 'engine.invalid']) {
      const endpoint = { url: `https://${host}:8443`, username: 'default', password: 'x' }
      const body = { name: host, provider: 'aws', region: 'eu-west-1', endpoint }
      const { id } = await call<{ id: string }>('POST', '/services', body)
      const look = () => call<{ state: string }>('GET', `/services/${id}`)
      while ((await look()).state === 'provisioning') await sleep(200)
    }
    assert.equal(await end('SIGTERM'), 0)
  })

  it('runs commands through deploy/penstock, with the settings and user of the service', () => {
    const data = join(folder, 'service')
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, nobody, nobody)
    const settings = readFileSync(join(project, 'deploy', 'penstock.env'), 'utf8')
    writeFileSync(join(folder, 'penstock.env'), settings.replace('/var/lib/penstock', data), { mode: 0o600 })
    const wrapper = readFileSync(join(project, 'deploy', 'penstock'), 'utf8')
      .replace('/etc/penstock', folder)
      .replace('--reuid=penstock --regid=penstock', '--reuid=nobody --regid=nogroup')
      .replace('/opt/penstock/node_modules/.bin/node', node)
      .replace('/opt/penstock', tree)
    const names = ['--organization', 'A Company', '--admin-name', 'Ada', '--admin-email', 'ada@example.com']
    const printed = execFileSync('/bin/sh', ['-c', wrapper, 'penstock', 'init', ...names], {
      encoding: 'utf8',
      // As in cron.
      env: { PATH: '/usr/bin:/bin' },
    })
    assert.match(printed, /^Sign in at {3}https:\/\/penstock\.example\.com\//m)
    const { uid, mode } = statSync(join(data, 'master-keys.json'))
    assert.deepEqual([uid, mode & 0o777], [nobody, 0o600])
  })

  it('writes to its volume only', () => {
    const { changedPaths } = readTraces(traces)
    assert.ok(changedPaths.some((place) => place.endsWith('/penstock.db')))
    const isElsewhere = (place: string): boolean => !place.startsWith(join(writable, 'volume')) && place !== '/dev/null'
    assert.deepEqual(changedPaths.filter(isElsewhere), [])
  })

  it('uses no system call or socket family that the unit forbids', () => {
    const limits = readUnitLimits(join(project, 'deploy', 'penstock@.service'))
    const { systemCalls, socketFamilies } = readTraces(traces)
    assert.ok(systemCalls.size > 30)
    assert.deepEqual(
      [...systemCalls].filter((call) => !limits.systemCalls.has(call)),
      [],
    )
    assert.ok(socketFamilies.has('AF_NETLINK'), 'the engine was not looked for')
    assert.deepEqual(
      [...socketFamilies].filter((family) => !limits.socketFamilies.has(family)),
      [],
    )
  })
})

/** An address of this machine. Penstock refuses connections to it, and asks the kernel for its interfaces to know that. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '10.255.255.1'
}

/** A package for our tests may also be a dependency of a shipped package. */
function isDependencyOfAnother(name: string, tree: string): boolean {
  const { packages } = JSON.parse(readFileSync(join(tree, 'node_modules', '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  return packages[`node_modules/${name}`]?.dev !== true
}
