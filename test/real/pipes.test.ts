// R18, R19 and changes of running pipes, shortly: `npm run chaos` does the same for as long as one likes. A run that fails says
// which folder has its history, its log and its database. Kinesis and queues are in pipes-aws.test.ts: the two files run at the same
// time.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes while everything around them dies', ({ deliveries, drill }) => {
  deliveries('kafka', { engine: 'old', troubles: 6, seed: 1 })
  deliveries('kafka', { engine: 'modern', troubles: 4, seed: 2 })
  deliveries('objects', { engine: 'old', troubles: 4, seed: 3 })
  deliveries('objects', { engine: 'modern', troubles: 3, seed: 4 })
  deliveries('objects once', { engine: 'old', troubles: 3, seed: 5 })
  drill('R19: who wakes up after its lease changes nothing any more', 'R19', { engine: 'old', troubles: 2, seed: 6 })
  const changes = '15 changes of a busy pipe lose and double nothing, and a bad one is told'
  drill(changes, 'updates', { engine: 'modern', troubles: 15, seed: 7 })
})
