// R1: kill -9 loses no acknowledged write, leaves no partial write, and no change without its activity. `npm run chaos` runs
// more.
import { killDrill } from '../../../chaos/system/kills.ts'
import { testDrill } from '../../harness/drill.ts'

testDrill(killDrill)
