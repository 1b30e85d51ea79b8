// R19, and changes of running pipes, shortly.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes that run', ({ drill }) => {
  drill('R19: who wakes up after its lease changes nothing any more', 'R19', { engine: 'old', troubles: 2, seed: 6 })
  const changes = '15 changes of a busy pipe lose and double nothing, and a bad one is told'
  drill(changes, 'updates', { engine: 'modern', troubles: 15, seed: 7 })
})
