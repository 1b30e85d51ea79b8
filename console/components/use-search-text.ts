import { useEffect, useRef, useState } from 'react'
import { SentSearches } from './sent-searches.ts'

/** Text of a search field that is synchronized with the URL. `send` updates the URL. */
export function useSearchText(search: string, send: (text: string) => void) {
  const [typed, setTyped] = useState(search)
  const [sent] = useState(() => new SentSearches())
  const shown = useRef(search)
  useEffect(() => {
    if (shown.current === search) return
    shown.current = search
    if (!sent.comesBack(search)) setTyped(search)
  }, [search, sent])
  return {
    typed,
    setTyped,
    send: (text: string) => {
      // An unchanged URL does not return the text.
      if (text !== shown.current) sent.add(text)
      send(text)
    },
  }
}
