// R14, R15, S6 and S7 in the size of a test run on two cores: more than Penstock can do, for long, and from those who mean it ill.
// The full sizes (10,000 guesses in a second, 2,000 slow connections, an hour) need a machine to themselves: `npm run chaos`.
import { overloadDrill } from '../../../chaos/system/overload.ts'
import { soakDrill } from '../../../chaos/system/soak.ts'
import { guessStormDrill, slowStormDrill } from '../../../chaos/system/storms.ts'
import { testDrill } from '../../drill.ts'

const timeout = 300_000

testDrill(overloadDrill, { timeout, name: ', on SQLite' })
testDrill(overloadDrill, { timeout, name: ', on PostgreSQL', more: { isOnPostgres: true } })
for (const drill of [soakDrill, guessStormDrill, slowStormDrill]) testDrill(drill, { timeout })
