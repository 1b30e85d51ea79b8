// A file system on a device of its own whose power can be cut: what was not synced by then is gone, as after a blackout. The
// cache within a disk is not part of it: a disk that says it has synced is believed.
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requirePrograms, unmountPatiently } from './disk-tools.ts'

const run = promisify(execFile)

export interface PowerDevice {
  mountPoint: string
  /** From now on nothing reaches the device, and whoever asks gets an error. */
  cut(): Promise<void>
  /** After a cut, when nobody uses it any more: what the device has is there again. */
  restore(): Promise<void>
  /** All that was written is on the device. */
  flush(): Promise<void>
  remove(): Promise<void>
}

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
    cut: async () => {
      // FS_IOC_SHUTDOWN of ext4 with NOLOGFLUSH: not even its own journal is written.
      const script =
        'open(my $root, "<", $ARGV[0]) or die; my $how = pack("I", 2); ioctl($root, 0x8004587d, $how) or die "$!"'
      await run(programs.perl, ['-e', script, mountPoint])
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
