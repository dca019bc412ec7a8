import { readdirSync, readFileSync } from 'node:fs'

/** The kernel counts CPU time in ticks of 1/100 s (USER_HZ) on all platforms with /proc. */
const MILLISECONDS_PER_TICK = 10

/** CPU milliseconds, user and system, of a process with its threads and living children. Linux only. */
export function cpuMilliseconds(pid: number): number {
  return sum(pid, (stat) => (Number(stat[11]) + Number(stat[12])) * MILLISECONDS_PER_TICK)
}

/** Resident memory of a process and its children, bytes. Linux only. */
export function residentBytes(pid: number): number {
  return sum(pid, (stat) => Number(stat[21]) * 4096)
}

function sum(root: number, measure: (stat: string[]) => number): number {
  const stats = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name): [number, string[]][] => {
        const stat = readStat(Number(name))
        return stat === undefined ? [] : [[Number(name), stat]]
      }),
  )
  const below = (pid: number): number => {
    const own = stats.get(pid)
    if (own === undefined) throw new Error(`process ${pid} is gone`)
    const children = [...stats].filter(([, stat]) => Number(stat[1]) === pid)
    return measure(own) + children.reduce((total, [child]) => total + below(child), 0)
  }
  return below(root)
}

/** Fields of /proc/PID/stat from the third on (proc(5)): 0 state, 1 ppid, 11 utime, 12 stime, 21 rss in pages. */
function readStat(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
