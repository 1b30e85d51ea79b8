// R7 in the size of a test run: databases that stop and start under load.
import { restartsDrill } from '../../../chaos/system/restarts.ts'
import { testDrill } from '../../drill.ts'

testDrill(restartsDrill)
