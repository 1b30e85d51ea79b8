// R18 of Kinesis and of files that a queue tells of, streams that change their shape and keys that are replaced, shortly.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes of AWS while everything around them dies', ({ deliveries, drill }) => {
  deliveries('Kinesis', { engine: 'old', troubles: 5, seed: 8 })
  deliveries('Kinesis', { engine: 'modern', troubles: 5, seed: 9 })
  deliveries('queue', { engine: 'old', troubles: 5, seed: 10 })
  deliveries('queue', { engine: 'modern', troubles: 5, seed: 11 })
  const reshard = '3 splits and merges of a Kinesis stream, each with a trouble, lose and double nothing'
  drill(reshard, 'reshard', { engine: 'old', troubles: 3, seed: 12 })
  const rotations = (source: string) => `5 rotations of the key of a busy ${source} pipe lose and double nothing`
  drill(rotations('Kinesis'), 'rotation', { number: 0, engine: 'modern', troubles: 5, seed: 13 })
  drill(rotations('object storage'), 'rotation', { number: 1, engine: 'old', troubles: 5, seed: 14 })
})
