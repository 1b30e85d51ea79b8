// Short R18 runs: `npm run chaos` runs them for longer. A failed run names the folder with its history, logs and database. The
// runs mostly wait, so several files run in parallel.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes while everything around them dies', ({ deliveries }) => {
  deliveries('kafka', { engine: 'old', faults: 6, seed: 1 })
  deliveries('kafka', { engine: 'modern', faults: 4, seed: 2 })
  deliveries('objects', { engine: 'old', faults: 4, seed: 3 })
  deliveries('objects', { engine: 'modern', faults: 3, seed: 4 })
  deliveries('objects once', { engine: 'old', faults: 3, seed: 5 })
})
