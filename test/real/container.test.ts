// The Dockerfile: what it says, and whether what its steps make runs as a stranger on a read-only machine, within the system calls
// that deploy/penstock@.service lets through, and by deploy/penstock. It needs root, to make a machine read-only for one process.
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
  it('has two stages on the Node of package.json', () => {
    assert.equal(readDockerfile().length, 2)
    for (const version of Object.values(manifest.optionalDependencies)) {
      assert.deepEqual([build.base, image.base], Array(2).fill(`node:${version}-bookworm-slim`))
    }
  })

  it('ends as a user who is not root, given by number', () => {
    assert.deepEqual(listOf(build, 'USER'), [])
    assert.deepEqual(listOf(image, 'USER'), ['1000:1000'])
    const afterUser = image.instructions.slice(image.instructions.findIndex(({ keyword }) => keyword === 'USER'))
    assert.deepEqual(
      afterUser.filter(({ keyword }) => keyword === 'RUN' || keyword === 'COPY'),
      [],
    )
  })

  it('copies by name what the package has and what the build needs, and gets nothing from a network but by npm ci', () => {
    const copied = [build, image].flatMap(copiesOf).filter(({ from }) => from === undefined)
    const known = [...manifest.files, 'package.json', 'package-lock.json', 'LICENSE', 'src', 'console']
    const configurations = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.client.json']
    for (const source of copied.flatMap(({ sources }) => sources)) {
      assert.ok([...known, ...configurations].includes(source), `${source} is no part of the package or the build`)
    }
    const shipped = copiesOf(image).map(({ sources, target }) => (target === './' ? sources : [target]))
    // How machines are set up is nothing for an image.
    for (const file of manifest.files.filter((name) => name !== 'deploy'))
      assert.ok(shipped.flat().includes(file), `${file} is not in the image`)
    assert.deepEqual([...listOf(build, 'ADD'), ...listOf(image, 'ADD')], [])
    const commands = [build, image].flatMap((stage) => listOf(stage, 'RUN'))
    assert.doesNotMatch(commands.join('\n'), /curl|wget|apt|npm (?:install|i)\b/)
  })

  it('sees nothing that it does not copy: .dockerignore begins with everything', () => {
    const lines = readFileSync(join(project, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    assert.equal(lines[0], '*')
    const copied = [build, image].flatMap(copiesOf).filter(({ from }) => from === undefined)
    const admitted = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    assert.deepEqual(admitted.toSorted(), [...new Set(copied.flatMap(({ sources }) => sources))].toSorted())
  })
})

describe('what the Dockerfile makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-container-'))
  const tree = join(folder, 'tree')
  const writable = join(folder, 'writable')
  // Others could not reach the one in a private checkout.
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

  /** As the image has it, but on loopback, and its folders are elsewhere. */
  function environment(): Record<string, string> {
    return {
      ...environmentOf(image),
      PATH: process.env.PATH ?? '',
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_PORT: String(port),
      PENSTOCK_DATA: join(writable, 'volume', 'data'),
    }
  }

  /** Every place is read-only but one; all that it asks of the kernel is written down. */
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
    // strace goes on until what it watches has ended; the group has both.
    process.kill(-running.pid!, signal)
    running = undefined
    const [code] = (await ended) as [number | null]
    return code
  }

  const healthCheck = (): number | null => {
    const [, ...command] = commandOf(image, 'HEALTHCHECK')
    return spawnSync(process.execPath, command, { env: environment() }).status
  }

  it('has dependencies of production only, and no sources', () => {
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

  it('refuses to be reached from elsewhere until it is told of TLS', () => {
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

  it('is set up, serves and stops as a stranger on a machine that it cannot write', { timeout: 300_000 }, async () => {
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
    // Engines are really looked for: with names, addresses and TLS, that takes more of the kernel than anything else does.
    for (const host of [ownAddress(), 'engine.invalid']) {
      const endpoint = { url: `https://${host}:8443`, username: 'default', password: 'x' }
      const body = { name: host, provider: 'aws', region: 'eu-west-1', endpoint }
      const { id } = await call<{ id: string }>('POST', '/services', body)
      const look = () => call<{ state: string }>('GET', `/services/${id}`)
      while ((await look()).state === 'provisioning') await sleep(200)
    }
    assert.equal(await end('SIGTERM'), 0)
  })

  it('takes commands through deploy/penstock, with the settings and as the user of the service', () => {
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
      // As cron has it.
      env: { PATH: '/usr/bin:/bin' },
    })
    assert.match(printed, /^Sign in at {3}https:\/\/penstock\.example\.com\//m)
    const { uid, mode } = statSync(join(data, 'master-keys.json'))
    assert.deepEqual([uid, mode & 0o777], [nobody, 0o600])
  })

  it('has written into its volume and nowhere else', () => {
    const { changedPlaces } = readTraces(traces)
    assert.ok(changedPlaces.some((place) => place.endsWith('/penstock.db')))
    const isElsewhere = (place: string): boolean => !place.startsWith(join(writable, 'volume')) && place !== '/dev/null'
    assert.deepEqual(changedPlaces.filter(isElsewhere), [])
  })

  it('needs no system call and no kind of socket that the unit forbids', () => {
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

/** Users may not connect to it, which Penstock finds out by asking the kernel. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '10.255.255.1'
}

/** A package that we use for tests may also be needed by one that we ship. */
function isDependencyOfAnother(name: string, tree: string): boolean {
  const { packages } = JSON.parse(readFileSync(join(tree, 'node_modules', '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  return packages[`node_modules/${name}`]?.dev !== true
}
