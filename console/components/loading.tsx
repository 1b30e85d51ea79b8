import { Center, Loader } from '@mantine/core'
import { useEffect, useState } from 'react'

/** True when something has lasted so long that people wonder. */
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

/** Nothing at first: what is there in a moment must not flicker. */
export function LoadingPage() {
  const lasts = useLasting(true)
  return (
    <Center mih={240} role="status" aria-live="polite" aria-label="Loading">
      {lasts && <Loader />}
    </Center>
  )
}
