// R5 and R6: full and slow disks.
import { diskFull } from '../../../chaos/system/disk-full.ts'
import { diskSlow } from '../../../chaos/system/disk-slow.ts'
import { testDrill } from '../../harness/drill.ts'

for (const drill of [diskFull, diskSlow]) testDrill(drill)
