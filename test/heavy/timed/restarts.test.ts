// R7 with the size of a test run: databases that restart under load.
import { restartsDrill } from '../../../chaos/system/restarts.ts'
import { testDrill } from '../../harness/drill.ts'

testDrill(restartsDrill)
