// File system on its own device whose power can be cut: data that was not synced is lost, as after a blackout. The disk cache is
// not simulated: a disk that reports a sync is believed.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requirePrograms, unmountWithRetries } from './disk-tools.ts'

const run = promisify(execFile)

export interface PowerDevice {
  mountPoint: string
  /**
   * Resolves when nothing reaches the device any more and every access fails. `begin` is called right before: ext4 may report
   * success for a sync in progress without having stored it, which a real blackout does not do.
   */
  cut(begin: () => void): Promise<void>
  /** Makes the data on the device available again after a cut, when no process uses it any more. */
  restore(): Promise<void>
  /** Syncs everything written to the device. */
  flush(): Promise<void>
  remove(): Promise<void>
}

/** FS_IOC_SHUTDOWN of ext4 with NOLOGFLUSH, on command: not even the journal is written. */
const shutDown = `
  open(my $root, "<", $ARGV[0]) or die "$!";
  my $how = pack("I", 2);
  syswrite(STDOUT, "ready") or die "$!";
  <STDIN>;
  ioctl($root, 0x8004587d, $how) or die "$!"`

export async function makePowerDevice(folder: string, sizeBytes: number): Promise<PowerDevice> {
  const programs = requirePrograms({ 'mkfs.ext4': 'e2fsprogs', mount: 'mount', umount: 'mount', perl: 'perl-base' })
  let image = join(folder, 'device-0')
  let restorations = 0
  const mountPoint = join(folder, 'mounted')
  mkdirSync(mountPoint)
  await writeFile(image, '')
  await truncate(image, sizeBytes)
  await run(programs['mkfs.ext4'], ['-q', '-F', image])
  const mount = () => run(programs.mount, ['-o', 'loop', image, mountPoint])
  const unmount = () => unmountWithRetries(programs.umount, mountPoint)
  await mount()
  return {
    mountPoint,
    cut: async (begin) => {
      const perl = spawn(programs.perl, ['-e', shutDown, mountPoint], { stdio: ['pipe', 'pipe', 'inherit'] })
      // An early exit is reported below with the exit code.
      perl.stdin.on('error', () => undefined)
      const ended = once(perl, 'exit')
      await Promise.race([once(perl.stdout, 'data'), ended])
      begin()
      perl.stdin.end('now\n')
      const [code] = await ended
      if (code !== 0) throw new Error(`the power could not be cut (${code})`)
    },
    restore: async () => {
      await unmount()
      // On a new loop device: a process that copied the mounts of this machine since, such as a container, keeps the shut-down
      // file system alive, which would then be mounted again.
      const cutOff = image
      image = join(folder, `device-${++restorations}`)
      await run('cp', ['--sparse=always', cutOff, image])
      rmSync(cutOff)
      await mount()
    },
    flush: async () => void (await run('sync', ['--file-system', mountPoint])),
    remove: async () => {
      await unmount()
      rmSync(image)
    },
  }
}
