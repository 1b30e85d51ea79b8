// R4: disks that fail.
import { diskFailures } from '../../chaos/system/disk-failures.ts'
import { testDrill } from '../drill.ts'

testDrill(diskFailures)
