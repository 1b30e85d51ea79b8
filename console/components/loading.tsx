import { Center, Loader } from '@mantine/core'
import { useEffect, useState } from 'react'

/** True when `isBusy` has lasted for `afterMs`. */
export function useLasting(isBusy: boolean, afterMs = 300): boolean {
  const [lasts, setLasts] = useState(false)
  useEffect(() => {
    setLasts(false)
    if (!isBusy) return
    const timer = setTimeout(() => setLasts(true), afterMs)
    return () => clearTimeout(timer)
  }, [isBusy, afterMs])
  return lasts
}

/** Empty at first, to avoid flicker. */
export function LoadingPage() {
  const lasts = useLasting(true)
  return (
    <Center mih={240} role="status" aria-live="polite" aria-label="Loading">
      {lasts && <Loader />}
    </Center>
  )
}
