// nginx of Debian with deploy/nginx.conf; only addresses, ports and files are replaced. Runs as an unprivileged user.
import { chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePorts } from '../../../src/lib/free-port.ts'
import { makeCertificates } from '../../sources/certificates.ts'
import { debianProgram } from './installed.ts'
import { type Account, accepts, makeServerFolder, startServer } from './server-process.ts'

/** How nginx handled one request. */
export interface Passage {
  method: string
  status: number
  /** Number of processes that it was sent to. */
  attempts: number
}

export interface Nginx {
  url: string
  /** HTTP listener, which redirects to TLS. */
  plainUrl: string
  /** PEM of the CA certificate. */
  ca: string
  /** All requests so far. */
  listPassages(): Promise<Passage[]>
  stop(): Promise<void>
}

const configuration = new URL('../../../deploy/nginx.conf', import.meta.url)

export async function startNginx(upstreamPorts: [number, number]): Promise<Nginx> {
  const program = debianProgram('nginx', '/usr/sbin/nginx')
  const account = await findNobody()
  const [port, plainPort] = (await findFreePorts(2)) as [number, number]
  const certificates = await makeCertificates()
  const folder = await makeServerFolder('nginx', account)
  const files = {
    'nginx.conf': mainConfiguration,
    'penstock.conf': relocate(await readFile(configuration, 'utf8'), { upstreamPorts, port, plainPort, folder }),
    'fullchain.pem': certificates.server.cert,
    'privkey.pem': certificates.server.key,
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text.replaceAll('<folder>', folder), { mode: 0o600 })
    if (account) await chown(join(folder, name), account.uid, account.gid)
  }
  const server = await startServer({
    name: 'nginx',
    command: [program, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'],
    folder,
    account,
    // Waits for its workers.
    endSignal: 'QUIT',
    isReady: () => accepts(port),
  })
  return {
    url: `https://127.0.0.1:${port}`,
    plainUrl: `http://127.0.0.1:${plainPort}`,
    ca: certificates.ca,
    listPassages: async () => (await readFile(join(folder, 'access.log'), 'utf8')).split('\n').flatMap(readPassage),
    stop: () => server.stop(),
  }
}

const mainConfiguration = `
  daemon off;
  worker_processes 2;
  worker_shutdown_timeout 1s;
  pid <folder>/nginx.pid;
  events {}
  http {
    log_format passages '$request_method $status $upstream_addr';
    access_log <folder>/access.log passages;
    client_body_temp_path <folder>/bodies;
    proxy_temp_path <folder>/answers;
    fastcgi_temp_path <folder>/unused;
    uwsgi_temp_path <folder>/unused;
    scgi_temp_path <folder>/unused;
    include <folder>/penstock.conf;
  }`

function relocate(
  text: string,
  options: { upstreamPorts: [number, number]; port: number; plainPort: number; folder: string },
): string {
  const { upstreamPorts, port, plainPort, folder } = options
  const replacements: [string, string][] = [
    ['10.0.0.11:8080', `127.0.0.1:${upstreamPorts[0]}`],
    ['10.0.0.12:8080', `127.0.0.1:${upstreamPorts[1]}`],
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen [::]:443 ssl;', ''],
    ['listen [::]:80;', ''],
    ['/etc/ssl/penstock/fullchain.pem', join(folder, 'fullchain.pem')],
    ['/etc/ssl/penstock/privkey.pem', join(folder, 'privkey.pem')],
  ]
  return replacements.reduce((present, [from, to]) => {
    const pieces = present.split(from)
    if (pieces.length !== 2) throw new Error(`deploy/nginx.conf has ${pieces.length - 1} times ${from}`)
    return pieces.join(to)
  }, text)
}

function readPassage(line: string): Passage[] {
  const [, method = '', status = '', addresses = ''] = /^(\S+) (\d+) (.*)$/.exec(line) ?? []
  // A request without an available process was not sent: its address is "penstock".
  const attempts = addresses.split(', ').filter((address) => /:\d+$/.test(address)).length
  return method === '' ? [] : [{ method, status: Number(status), attempts }]
}

/** Undefined: nginx runs as the current user. */
async function findNobody(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const entry = (await readFile('/etc/passwd', 'utf8')).match(/^nobody:[^:]*:(\d+):(\d+):/m)
  if (!entry) throw new Error('/etc/passwd has no account "nobody"')
  return { uid: Number(entry[1]), gid: Number(entry[2]) }
}
