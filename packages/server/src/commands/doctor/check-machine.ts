// The disk and what lies on it: who can read the data directory, and how much room there is.

import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { secretKeyPath } from '#wiring/open-keys.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded } from './finding.ts'

const OTHERS = 0o077
const MIB = 1024 * 1024
/** Some days of mail; less may be gone by tomorrow. */
const FREE_BYTES_ADVISED = 2048 * MIB
/** A handful of the largest messages. */
const FREE_BYTES_MIN = 256 * MIB

/** Modes of the data directory and of the key file in it, and free room. */
export function checkMachine(settings: Settings): Finding[] {
  return [checkFolder(settings), checkKeyFile(settings), checkDisk(settings.dataDir)]
}

function checkFolder({ dataDir }: Settings): Finding {
  const aim: Aim = { check: 'data directory', expected: `${dataDir} with mode 0700` }
  if (!existsSync(dataDir)) {
    return bad(aim, 'it is not there', 'Start the service once, or set MAILROOM_DATA_DIR.')
  }
  return judgeMode(aim, dataDir, '0700')
}

function checkKeyFile(settings: Settings): Finding {
  const file = secretKeyPath(settings)
  const aim: Aim = { check: 'key file', expected: `${file} with mode 0600` }
  if (!existsSync(file)) return notNeeded(aim, `there is no ${file}`)
  return judgeMode(aim, file, '0600')
}

function judgeMode(aim: Aim, path: string, wanted: string): Finding {
  const mode = statSync(path).mode & 0o777
  const text = `${path} has mode ${mode.toString(8).padStart(4, '0')}`
  if ((mode & OTHERS) === 0) return good(aim, text)
  return bad(aim, `${text}: other users can read it`, `Run: chmod ${wanted} ${path}`)
}

/** Of the disk that the data directory is or will be on. */
function checkDisk(dataDir: string): Finding {
  let folder = dataDir
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  const { bavail, bsize, blocks } = statfsSync(folder)
  return judgeDisk({ folder, freeBytes: bavail * bsize, totalBytes: blocks * bsize })
}

/** 2 GiB are advised, or a tenth of a smaller disk; below 256 MiB mail is soon refused. */
export function judgeDisk(disk: {
  folder: string
  freeBytes: number
  totalBytes: number
}): Finding {
  const { folder, freeBytes, totalBytes } = disk
  const advised = Math.min(FREE_BYTES_ADVISED, totalBytes / 10)
  const aim: Aim = { check: 'disk', expected: `${mib(advised)} free at ${folder}` }
  const text = `${mib(freeBytes)} of ${mib(totalBytes)} free at ${folder}`
  const fix = `Free space at ${join(folder)}: with a full disk the service refuses mail.`
  if (freeBytes < Math.min(FREE_BYTES_MIN, advised / 2)) return bad(aim, text, fix)
  return freeBytes < advised ? advice(aim, text, fix) : good(aim, text)
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB).toLocaleString('en')} MiB`
}
