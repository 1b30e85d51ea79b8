// Checks of the disk under the data folder: file system, sync latency and free space.
import { walLimitBytes } from '../database/sqlite.ts'
import { type Finding, type Issue, problem, toFinding, warning } from './finding.ts'
import type { FileSystem, SyncTimings } from './machine.ts'

/** By the magic numbers of Linux. */
const namesOfTypes = new Map<number, string>([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0xca451a4e, 'bcachefs'],
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x794c7630, 'overlay'],
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb'],
  [0x517b, 'smb'],
  [0x01021997, '9p'],
  [0x65735546, 'fuse'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x5346414f, 'afs'],
  [0x4d44, 'vfat'],
  [0x2011bab0, 'exfat'],
])
const inMemory = ['tmpfs', 'ramfs']
const overNetwork = ['nfs', 'cifs', 'smb', '9p', 'fuse', 'ceph', 'lustre', 'afs']
const withoutPermissions = ['vfat', 'exfat']

/** More than a disk can do without a cache that survives a power failure. */
const mostSyncsPerSecond = 20_000
const slowSyncMs = 100
const mebibyte = 1_048_576
const fewFreeFiles = 1_000

export function checkFileSystem(folder: string, { type }: Pick<FileSystem, 'type'>): Finding {
  const name = namesOfTypes.get(type) ?? `type 0x${type.toString(16)}`
  const toDisk = 'put the data folder on a file system of a disk of this machine, such as ext4 or xfs'
  const issues: Issue[] = []
  if (inMemory.includes(name)) {
    issues.push(warning(`${folder} is on ${name}: all of it is gone when the machine stops`, toDisk))
  } else if (name === 'overlay') {
    const remedy = 'mount a volume at the data folder'
    issues.push(warning(`${folder} is on overlay: all of it is gone with the container`, remedy))
  } else if (overNetwork.includes(name)) {
    const found = `${folder} is on ${name}: locks and syncs are as good as the server behind it, and SQLite may be damaged`
    issues.push(warning(found, `${toDisk}, or use PostgreSQL (DATABASE_URL)`))
  } else if (withoutPermissions.includes(name)) {
    issues.push(warning(`${folder} is on ${name}, which keeps no permissions and no log of its changes`, toDisk))
  }
  return toFinding('file system', `${folder} is on ${name}`, issues)
}

export function checkDiskSync({ perSecond, medianMs, slowestMs }: SyncTimings): Finding {
  const rounded = Math.round(perSecond)
  const measured = `${rounded} syncs a second (median ${medianMs.toFixed(2)} ms, slowest ${slowestMs.toFixed(1)} ms)`
  const issues: Issue[] = []
  if (perSecond > mostSyncsPerSecond) {
    const found = `${measured}: faster than a disk can be, so syncs seem not to reach it, and a power failure may lose what was acknowledged`
    const remedy =
      'use a disk that honours fsync, or make sure that its cache outlives a power failure; in a virtual machine look at the cache mode of the disk'
    issues.push(warning(found, remedy))
  }
  if (medianMs > slowSyncMs) {
    issues.push(warning(`${measured}: every write waits for that`, 'use a faster disk, or look for what else uses it'))
  }
  return toFinding('disk sync', measured, issues)
}

/** `isDatabaseHere` is false with PostgreSQL: then the folder contains only the master keys. */
export function checkFreeSpace({ freeBytes, freeFiles }: FileSystem, isDatabaseHere: boolean): Finding {
  // The log grows up to its limit, and checkpoints grow the file by as much.
  const [few, scarce] = isDatabaseHere ? [2 * walLimitBytes, 1_024 * mebibyte] : [mebibyte, 16 * mebibyte]
  const free = `${inUnits(freeBytes)} free`
  const remedy = 'make room on the disk, or move the data folder to a larger one'
  const issues: Issue[] = []
  if (freeBytes < few) issues.push(problem(`${free}: writes are refused when it is full`, remedy))
  else if (freeBytes < scarce) issues.push(warning(`only ${free}`, remedy))
  if (freeFiles !== undefined && freeFiles < fewFreeFiles) {
    issues.push(problem(`room for only ${freeFiles} more files`, 'remove files that nobody needs from this disk'))
  }
  return toFinding('free space', free, issues)
}

export function inUnits(bytes: number): string {
  if (bytes >= 1_024 * mebibyte) return `${(bytes / (1_024 * mebibyte)).toFixed(1)} GiB`
  return bytes >= mebibyte ? `${Math.floor(bytes / mebibyte)} MiB` : `${Math.ceil(bytes / 1_024)} KiB`
}
