// A file system on a device of its own whose power can be cut: what was not synced by then is gone, as after a blackout. The
// cache within a disk is not part of it: a disk that says it has synced is believed.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requirePrograms, unmountPatiently } from './disk-tools.ts'

const run = promisify(execFile)

export interface PowerDevice {
  mountPoint: string
  /**
   * When it resolves, nothing reaches the device any more, and whoever asks gets an error. `begin` is called right before: ext4
   * may answer a sync that is under way then with success, and not have kept it, which no blackout does.
   */
  cut(begin: () => void): Promise<void>
  /** After a cut, when nobody uses it any more: what the device has is there again. */
  restore(): Promise<void>
  /** All that was written is on the device. */
  flush(): Promise<void>
  remove(): Promise<void>
}

/** FS_IOC_SHUTDOWN of ext4 with NOLOGFLUSH, on a word: not even its own journal is written. */
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
  const unmount = () => unmountPatiently(programs.umount, mountPoint)
  await mount()
  return {
    mountPoint,
    cut: async (begin) => {
      const perl = spawn(programs.perl, ['-e', shutDown, mountPoint], { stdio: ['pipe', 'pipe', 'inherit'] })
      // One that has ended already is told of below, by its code.
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
      // On a device of its own: whoever has copied the mounts of this machine meanwhile, as containers do, keeps the one that is
      // shut down alive, and would have it mounted again.
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
