// R5 and R6: disks that are full, or slow.
import { diskFull } from '../../../chaos/system/disk-full.ts'
import { diskSlow } from '../../../chaos/system/disk-slow.ts'
import { testDrill } from '../../drill.ts'

for (const drill of [diskFull, diskSlow]) testDrill(drill)
